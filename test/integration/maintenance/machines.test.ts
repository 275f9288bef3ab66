import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Machine } from '../../../src/api/machine.ts';
import { MACHINE_HOOK } from '../../../src/decide/machine-hook/machine-hook.ts';
import { runNodemaint } from '../../support/commands/nodemaint.ts';
import { drainOf } from '../../support/maintenance/objects.ts';
import { buildEvictionRig, type EvictionRig, NODE } from '../../support/rigs/eviction.ts';
import { waitFor } from '../../support/wait-for.ts';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');
const ACCOUNT = 'system:serviceaccount:nodemaint-system:nodemaint-controller';
const OTHERS_HOOK = 'pre-drain.delete.hook.machine.cluster.x-k8s.io/move-data';
const WITHIN = { timeoutMs: 30_000 };

/** As much of Cluster API's Machine as its hooks need; the name, the group and the version are its own. */
const CRD = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'machines.cluster.x-k8s.io' },
  spec: {
    group: 'cluster.x-k8s.io',
    scope: 'Namespaced',
    names: { kind: 'Machine', plural: 'machines', singular: 'machine' },
    versions: [
      {
        name: 'v1beta2',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};

describe('the hooks on Machines of Cluster API, under the policy of the controller', () => {
  let rig: EvictionRig;
  const stack = new AsyncDisposableStack();
  const kubectl = (...args: readonly string[]): Promise<string> => rig.controlPlane.kubectl(args);
  const apply = async (object: object): Promise<string> =>
    await rig.controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));

  before(async () => {
    rig = stack.use(await buildEvictionRig());
    await apply(CRD);
    await kubectl('wait', '--for=condition=Established', 'crd/machines.cluster.x-k8s.io', '--timeout=30s');
    await kubectl('apply', '-k', path.join(ROOT, 'manifests', 'cluster-api'));
    await makeMachine('own', NODE);
    await makeMachine('other', 'node-of-others');
    await apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'liar' } });
    await name(NODE, 'own');
    await name('liar', 'other');
  });
  after(async () => {
    await stack.disposeAsync();
  });

  /** A Machine whose node is `node` by Cluster API's word, and that waits for a hook of somebody else. */
  const makeMachine = async (machine: string, node: string): Promise<void> => {
    const metadata = { name: machine, namespace: 'default', annotations: { [OTHERS_HOOK]: 'somebody' } };
    await apply({ apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Machine', metadata, spec: { clusterName: 'prod' } });
    const status = JSON.stringify({ status: { nodeRef: { name: node } } });
    await kubectl('patch', 'machine', machine, '--type=merge', '--subresource=status', '-p', status);
  };
  /** What the Node says of itself. */
  const name = async (node: string, machine: string): Promise<void> => {
    const own = [`cluster.x-k8s.io/machine=${machine}`, 'cluster.x-k8s.io/cluster-namespace=default'];
    await kubectl('annotate', 'node', node, ...own);
  };
  const hooksOf = async (machine: string): Promise<Readonly<Record<string, string>>> => {
    const { metadata } = JSON.parse(await kubectl('get', 'machine', machine, '-o', 'json')) as Machine;
    const { annotations = {}, labels = {} } = metadata;
    const own = [annotations[MACHINE_HOOK], labels['nodemaintenance.x-k8s.io/machine-hook']];
    return { own: own.join(), others: annotations[OTHERS_HOOK] ?? '' };
  };
  const [HELD, FREE] = [
    { own: 'nodemaint,true', others: 'somebody' },
    { own: ',', others: 'somebody' },
  ];
  const until = async (expected: object): Promise<void> => {
    let seen: object = {};
    const isSo = async (): Promise<boolean> => {
      seen = await hooksOf('own');
      return JSON.stringify(seen) === JSON.stringify(expected);
    };
    await waitFor('the hooks', isSo, WITHIN).catch(() => {
      assert.deepEqual(seen, expected);
    });
  };

  it('a Machine waits while its node is drained, and goes on when the node is drained', async () => {
    const pod = await rig.createPod('web');
    const controller = await rig.startController({ machineHooks: true });
    await apply(drainOf('own', [NODE, 'liar']));
    await until(HELD);
    const isTold = async (): Promise<boolean> => (await rig.getPod('web'))?.metadata.deletionTimestamp !== undefined;
    await waitFor('the eviction', isTold, WITHIN);
    assert.deepEqual(await hooksOf('own'), HELD, 'until its last pod is gone');
    await rig.endPod(pod.metadata.name);
    await until(FREE);
    assert.deepEqual(await hooksOf('other'), FREE, 'a node cannot keep the Machine of another one');
    await kubectl('delete', 'nodemaintenance', 'own');
    await controller.stop();
  });

  it('a Machine is given back by the next controller where its maintenance is gone meanwhile', async () => {
    await rig.createPod('db');
    const controller = await rig.startController({ machineHooks: true });
    await apply(drainOf('short', [NODE]));
    await until(HELD);
    await controller.stop();
    await kubectl('patch', 'nodemaintenance', 'short', '--type=merge', '-p', '{"metadata":{"finalizers":null}}');
    await kubectl('delete', 'nodemaintenance', 'short');
    assert.deepEqual(await hooksOf('own'), HELD);
    const next = await rig.startController({ machineHooks: true });
    await until(FREE);
    await next.stop();
    await rig.endPod('db');
  });

  it('a Machine that is being deleted is left alone, and named by a preview with its hooks', async () => {
    await kubectl('patch', 'machine', 'own', '--type=merge', '-p', '{"metadata":{"finalizers":["test.invalid/keep"]}}');
    await kubectl('delete', 'machine', 'own', '--wait=false');
    const { stdout } = await runNodemaint([
      'preview',
      NODE,
      '--kubeconfig',
      rig.controlPlane.adminKubeconfig,
      '-o',
      'json',
    ]);
    const sentence = `Cluster API is deleting the node with its Machine default/own; it waits for the hooks ${OTHERS_HOOK}`;
    assert.ok(stdout.includes(sentence), stdout);
    await kubectl('patch', 'machine', 'own', '--type=merge', '-p', '{"metadata":{"finalizers":null}}');
  });

  it('a thief of the account of the controller can change nothing else of a Machine', async () => {
    const attempts: Readonly<Record<string, object>> = {
      'the spec': { spec: { clusterName: 'mine' } },
      'a hook of others': { metadata: { annotations: { [OTHERS_HOOK]: null } } },
      'another value of the hook': { metadata: { annotations: { [MACHINE_HOOK]: 'x' } } },
      'a label of others': { metadata: { labels: { 'cluster.x-k8s.io/cluster-name': 'mine' } } },
      'a finalizer': { metadata: { finalizers: ['test.invalid/mine'] } },
    };
    for (const [what, patch] of Object.entries(attempts)) {
      const tried = kubectl(
        'patch',
        'machine',
        'other',
        '--type=merge',
        '-p',
        JSON.stringify(patch),
        `--as=${ACCOUNT}`,
      );
      await assert.rejects(tried, /the controller may/, what);
    }
    await assert.rejects(kubectl('delete', 'machine', 'other', `--as=${ACCOUNT}`), /cannot delete resource/);
  });
});
