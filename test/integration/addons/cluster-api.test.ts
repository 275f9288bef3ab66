import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { MACHINE_HOOK, MACHINE_HOOK_LABEL } from '../../../src/addons/cluster-api/decide/machine-hook.ts';
import type { Machine } from '../../../src/api/machine.ts';
import type { Program } from '../../control-plane/process.ts';
import { MACHINE_CRD, OTHERS_HOOK } from '../../support/cluster-api.ts';
import { runNodemaint, startNodemaint, withoutDeployments } from '../../support/commands/nodemaint.ts';
import { drainOf } from '../../support/maintenance/objects.ts';
import { buildEvictionRig, type EvictionRig, NODE } from '../../support/rigs/eviction.ts';
import { waitFor } from '../../support/wait-for.ts';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');
const ACCOUNT = 'system:serviceaccount:nodemaint-system:nodemaint-cluster-api';
const GROUPS = ['system:serviceaccounts', 'system:serviceaccounts:nodemaint-system', 'system:authenticated'];
const WITHIN = { timeoutMs: 30_000 };

describe('the hooks on Machines of Cluster API, under the policy of its own account', () => {
  let rig: EvictionRig;
  let kubeconfig: string;
  const stack = new AsyncDisposableStack();
  const kubectl = (...args: readonly string[]): Promise<string> => rig.controlPlane.kubectl(args);
  const apply = async (object: object): Promise<string> =>
    await rig.controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));

  before(async () => {
    rig = stack.use(await buildEvictionRig());
    await apply(MACHINE_CRD);
    await kubectl('wait', '--for=condition=Established', 'crd/machines.cluster.x-k8s.io', '--timeout=30s');
    const manifests = await kubectl('kustomize', path.join(ROOT, 'manifests', 'cluster-api'));
    await rig.controlPlane.kubectl(['apply', '-f', '-'], withoutDeployments(manifests));
    kubeconfig = await rig.controlPlane.kubeconfigFor(ACCOUNT, GROUPS);
    const controller = await rig.startController();
    stack.defer(() => controller.stop());
    await makeMachine('own', NODE);
    await makeMachine('other', 'node-of-others');
    await apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'liar' } });
    await name(NODE, 'own');
    await name('liar', 'own');
  });
  after(async () => {
    await stack.disposeAsync();
  });

  const start = (): Program =>
    startNodemaint(['cluster-api', '--kubeconfig', kubeconfig], path.join(rig.folder, 'cluster-api.log'));
  const log = async (): Promise<string> => await readFile(path.join(rig.folder, 'cluster-api.log'), 'utf8');
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
    const own = [annotations[MACHINE_HOOK], labels[MACHINE_HOOK_LABEL]];
    return { own: own.join(), others: annotations[OTHERS_HOOK] ?? '' };
  };
  const [HELD, FREE] = [
    { own: 'nodemaint,true', others: 'somebody' },
    { own: ',', others: 'somebody' },
  ];
  const until = async (expected: object, machine = 'own'): Promise<void> => {
    let seen: object = {};
    const isSo = async (): Promise<boolean> => {
      seen = await hooksOf(machine);
      return JSON.stringify(seen) === JSON.stringify(expected);
    };
    await waitFor('the hooks', isSo, WITHIN).catch(() => {
      assert.deepEqual(seen, expected);
    });
  };

  it('a Machine waits while its node is drained, and goes on when the node is drained', async () => {
    const pod = await rig.createPod('web');
    await using _ = start();
    await apply(drainOf('own', [NODE]));
    await until(HELD);
    const isTold = async (): Promise<boolean> => (await rig.getPod('web'))?.metadata.deletionTimestamp !== undefined;
    await waitFor('the eviction', isTold, WITHIN);
    assert.deepEqual(await hooksOf('own'), HELD, 'until its last pod is gone');
    await rig.endPod(pod.metadata.name);
    await until(FREE);
    await kubectl('delete', 'nodemaintenance', 'own');
  });

  it('a node that names the Machine of another node does not take it from that node, and is named in the log', async () => {
    const pod = await rig.createPod('api');
    // A node without pods would be drained at once.
    await rig.createPod('lie', {}, { nodeName: 'liar' });
    await using _ = start();
    for (const each of [NODE, 'liar']) await apply(drainOf(each, [each]));
    await until(HELD);
    const isNamed = async (): Promise<boolean> => (await log()).includes('node liar names the Machine default/own');
    await waitFor('the refusal', isNamed, WITHIN).catch(async () => {
      assert.fail(`${await log()} ${await kubectl('get', 'node', 'liar', '-o', 'yaml')}`);
    });
    // While only the node liar is drained, its own Machine gets the hook, and the other one does not.
    await rig.endPod(pod.metadata.name);
    await until(FREE);
    await makeMachine('third', 'liar');
    await until(HELD, 'third');
    assert.deepEqual(await hooksOf('own'), FREE, 'a node cannot keep the Machine of another one');
    await rig.endPod('lie');
    await until(FREE, 'third');
    await kubectl('delete', 'nodemaintenance', NODE, 'liar');
    await kubectl('delete', 'machine', 'third');
  });

  it('of two Machines that name one node none gets a hook, and the log says so', async () => {
    await rig.createPod('cache');
    await makeMachine('twin', NODE);
    await using _ = start();
    await apply(drainOf('twins', [NODE]));
    const isNamed = async (): Promise<boolean> =>
      (await log()).includes('the Machines default/own, default/twin all name the node');
    await waitFor('the refusal', isNamed, WITHIN);
    assert.deepEqual([await hooksOf('own'), await hooksOf('twin')], [FREE, FREE]);
    await kubectl('delete', 'machine', 'twin');
    await until(HELD);
    await rig.endPod('cache');
    await until(FREE);
    await kubectl('delete', 'nodemaintenance', 'twins');
  });

  it('a Machine is given back by the next process where its maintenance is gone meanwhile', async () => {
    await rig.createPod('db');
    const first = start();
    await apply(drainOf('short', [NODE]));
    await until(HELD);
    first.kill('SIGKILL');
    await waitFor('the add-on is dead', () => first.exited());
    await kubectl('delete', 'nodemaintenance', 'short');
    assert.deepEqual(await hooksOf('own'), HELD);
    await using _ = start();
    await until(FREE);
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
});
