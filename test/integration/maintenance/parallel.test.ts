import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { SHUTDOWN_KIND_ANNOTATION } from '../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import { buildEvictionRig, type EvictionRig } from '../../support/rigs/eviction.ts';
import { runCommand } from '../../support/commands/command.ts';
import { SOON, waitFor } from '../../support/wait-for.ts';
import { createAsNode } from '../../support/maintenance/node-writes.ts';
import { drainOf, ownMaintenanceOf } from '../../support/maintenance/objects.ts';

const NODES = ['one', 'two', 'three'];

describe('limits of a drain, on a real API server', () => {
  let rig: EvictionRig;
  before(async () => {
    rig = await buildEvictionRig();
    for (const name of NODES) {
      await apply({ apiVersion: 'v1', kind: 'Node', metadata: { name } });
      await rig.createPod(`pod-${name}`, {}, { nodeName: name });
    }
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  const apply = async (object: object): Promise<string> =>
    await rig.controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));

  const drain = async (node: string): Promise<void> => {
    await apply(drainOf(`drain-${node}`, [node]));
  };
  /** Switches the machine of the node off, as its agent says, and returns the name of its drain. */
  const shutDown = async (node: string): Promise<string> => {
    const body = ownMaintenanceOf(node, { annotations: { [SHUTDOWN_KIND_ANNOTATION]: 'poweroff' } });
    await createAsNode(rig.controlPlane, node, body);
    return body.metadata.name;
  };

  const messageOf = async (node: string, name = `drain-${node}`): Promise<string> => {
    const text = await rig.controlPlane.kubectl(['get', 'nm', name, '-o', 'json']);
    return (JSON.parse(text) as NodeMaintenance).status?.nodeStatuses?.[0]?.drainMessage ?? '';
  };

  it('the controller drains no more nodes at once than are allowed, cordons none of the others, and continues when one is completed', async () => {
    const controller = await rig.startController({ maxParallelNodes: '1' });
    await drain('one');
    await waitFor('the first is drained', async () => (await messageOf('one')) === 'Evacuating', SOON);
    await drain('two');
    const waiting = 'Waiting for other maintenances, drain-one: at most 1 node is drained at once.';
    await waitFor('the second waits', async () => (await messageOf('two')) === waiting, SOON);
    const cordoned = ['get', 'node', 'two', '-o', 'jsonpath={.spec.unschedulable}'];
    assert.equal((await rig.getPod('pod-two'))?.metadata.deletionTimestamp, undefined);
    // Drained, but not given back: its node is still out of use.
    await rig.endPod('pod-one');
    await rig.controlPlane.kubectl(['wait', '--for=condition=Drained', 'nm/drain-one', '--timeout=300s']);
    assert.equal(await messageOf('two'), waiting);
    assert.equal(await rig.controlPlane.kubectl(cordoned), '', 'its room is there for the pods of the first');
    const complete = ['patch', 'nm', 'drain-one', '--type=merge', '-p', '{"spec":{"stage":"Complete"}}'];
    await rig.controlPlane.kubectl(complete);
    await waitFor('the second begins', async () => (await messageOf('two')) === 'Evacuating', SOON);
    await waitFor('it is cordoned', async () => (await rig.controlPlane.kubectl(cordoned)) === 'true', SOON);
    await controller.stop();
  });

  it('the shutdown of a machine takes no place, which a stolen identity could keep for ever', async () => {
    for (const name of ['stolen', 'free']) {
      await apply({ apiVersion: 'v1', kind: 'Node', metadata: { name } });
      await rig.createPod(`pod-${name}`, {}, { nodeName: name });
    }
    for (const each of NODES)
      await rig.controlPlane.kubectl(['delete', 'nm', `drain-${each}`, '--ignore-not-found', '--wait=false']);
    const shutdown = await shutDown('stolen');
    const begun = [
      'patch',
      'nm',
      shutdown,
      '--subresource=status',
      '--type=merge',
      '-p',
      '{"status":{"drainPlanPosition":1}}',
    ];
    await rig.controlPlane.kubectl(begun);
    const controller = await rig.startController({ maxParallelNodes: '1' });
    await drain('free');
    await waitFor('the other one begins', async () => (await messageOf('free')) === 'Evacuating', SOON);
    await waitFor('so does the shutdown', async () => (await messageOf('stolen', shutdown)) === 'Evacuating', SOON);
    await controller.stop();
  });

  it('the controller delays a drain that would break the quorum of etcd, until it is forced; a machine that is switched off is not delayed', async () => {
    const ready = JSON.stringify({ status: { conditions: [{ type: 'Ready', status: 'True' }] } });
    for (const name of ['cp-a', 'cp-b', 'cp-c']) {
      const labels = { 'node-role.kubernetes.io/control-plane': '' };
      await apply({ apiVersion: 'v1', kind: 'Node', metadata: { name, labels } });
      await rig.controlPlane.kubectl(['patch', 'node', name, '--subresource=status', '--type=strategic', '-p', ready]);
      await rig.createPod(`pod-${name}`, {}, { nodeName: name });
    }
    const controller = await rig.startController();
    await drain('cp-a');
    await waitFor('the first is drained', async () => (await messageOf('cp-a')) === 'Evacuating', SOON);
    await drain('cp-b');
    await waitFor('the second is throttled', async () => (await messageOf('cp-b')).startsWith('Throttled: '), SOON);
    assert.match(await messageOf('cp-b'), /leaves 1 of 3 members of the control plane at work, and etcd needs 2/);
    assert.equal((await rig.getPod('pod-cp-b'))?.metadata.deletionTimestamp, undefined);
    await rig.controlPlane.kubectl(['annotate', 'nm', 'drain-cp-b', 'nodemaintenance.x-k8s.io/force=true']);
    await waitFor('it begins', async () => (await messageOf('cp-b')) === 'Evacuating', SOON);
    const shutdown = await shutDown('cp-c');
    await waitFor('the agent is not held', async () => (await messageOf('cp-c', shutdown)) === 'Evacuating', SOON);
    await controller.stop();
  });

  it('the second of three members of the control plane waits after the maintenance of the first one until its etcd and its API server are Ready again', async () => {
    const members = ['k-1', 'k-2', 'k-3'];
    const ready = JSON.stringify({ status: { conditions: [{ type: 'Ready', status: 'True' }] } });
    /** Makes the mirror pods of a member, as its kubelet does, with what it says of them. */
    const run = async (node: string, etcd: 'True' | 'False'): Promise<void> => {
      for (const component of ['etcd', 'kube-apiserver']) {
        const name = `${component}-${node}`;
        const labels = { component, tier: 'control-plane' };
        const annotations = { 'kubernetes.io/config.mirror': name, 'kubernetes.io/config.hash': name };
        const metadata = { name, namespace: 'kube-system', labels, annotations };
        const spec = { nodeName: node, containers: [{ name: component, image: 'none.invalid/none' }] };
        await apply({ apiVersion: 'v1', kind: 'Pod', metadata, spec });
        await say(name, component === 'etcd' ? etcd : 'True');
      }
    };
    const say = async (name: string, status: 'True' | 'False'): Promise<void> => {
      const said = JSON.stringify({ status: { phase: 'Running', conditions: [{ type: 'Ready', status }] } });
      const pod = ['patch', 'pod', name, '-n', 'kube-system', '--subresource=status', '--type=strategic', '-p', said];
      await rig.controlPlane.kubectl(pod);
    };
    await rig.controlPlane.kubectl(['delete', 'nm', '--all', '--wait=false']);
    await rig.controlPlane.kubectl(['delete', 'nodes', 'cp-a', 'cp-b', 'cp-c', '--ignore-not-found']);
    for (const name of members) {
      const labels = { 'node-role.kubernetes.io/control-plane': '' };
      await apply({ apiVersion: 'v1', kind: 'Node', metadata: { name, labels } });
      await rig.controlPlane.kubectl(['patch', 'node', name, '--subresource=status', '--type=strategic', '-p', ready]);
      await run(name, 'True');
    }
    const controller = await rig.startController();
    await drain('k-1');
    await waitFor('the first is drained', async () => (await messageOf('k-1')) === 'Evacuating', SOON);
    await drain('k-2');
    const says = (text: RegExp) => async (): Promise<boolean> => text.test(await messageOf('k-2'));
    await waitFor('the second waits', says(/^Throttled: .* and etcd needs 2;/), SOON);
    // The agent has parked the manifests, and the maintenance is over before the kubelet has started them again.
    const parked = ['etcd-k-1', 'kube-apiserver-k-1'];
    const gone = ['delete', 'pod', '-n', 'kube-system', ...parked, '--force', '--grace-period=0'];
    await rig.controlPlane.kubectl(gone);
    await rig.controlPlane.kubectl(['delete', 'nm', 'drain-k-1', '--timeout=300s']);
    const missing = /\(k-1: etcd and kube-apiserver not Ready since its maintenance was over at \d{4}-/;
    await waitFor('the second waits for both', says(missing), SOON);
    await run('k-1', 'False');
    await waitFor('it waits for etcd', says(/\(k-1: etcd not Ready since its maintenance was over at \d{4}-/), SOON);
    await controller.stop();
    const next = await rig.startController();
    await new Promise((resolve) => {
      setTimeout(resolve, 3_000);
    });
    assert.match(await messageOf('k-2'), /k-1: etcd not Ready/, 'another leader finds the same');
    await say('etcd-k-1', 'True');
    await waitFor('the second begins', says(/^Evacuating$/), SOON);
    await next.stop();
  });

  it('a person with the role nodemaint-operator may drain a node, and one without it may not', async () => {
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'nodemaint-operator' };
    const subjects = [{ kind: 'User', name: 'olga', apiGroup: 'rbac.authorization.k8s.io' }];
    const kind = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding' };
    await apply({ ...kind, metadata: { name: 'olga' }, roleRef, subjects });
    const run = async (user: string): Promise<{ code: number | null; stderr: string }> => {
      const kubeconfig = await rig.controlPlane.kubeconfigFor(user, []);
      return await runCommand([
        'drain',
        'three',
        '--no-wait',
        '--delete-unmanaged',
        '--kubeconfig',
        kubeconfig,
        '--reason',
        'test',
      ]);
    };
    const refused = await run('nobody');
    assert.equal(refused.code, 1, refused.stderr);
    const done = await run('olga');
    assert.equal(done.code, 0, done.stderr);
    await rig.controlPlane.kubectl(['get', 'nm', 'maintenance-three']);
  });
});
