import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MIRROR_ANNOTATION, SOURCE_ANNOTATION } from '../../../src/api/names.ts';
import type { NodeStatus } from '../../../src/api/node-maintenance.ts';
import { deployment } from '../../node/pods.ts';
import { runNodemaint } from '../../support/commands/nodemaint.ts';
import { buildEvictionRig, NODE as DRAINED_NODE } from '../../support/rigs/eviction.ts';
import { lines, phaseIs, startAgent, startController } from '../../support/rigs/pod-node.ts';
import { buildOwnDrainRig, maintenance, NODE, type OwnDrainRig, trigger } from '../../support/rigs/self-drain.ts';
import { drainOf } from '../../support/maintenance/objects.ts';
import { SLOW, waitFor } from '../../support/wait-for.ts';

/** A machine that goes down waits a minute for pods that come back, and for the last of them to end. */
const LONG = { timeoutMs: 240_000 };

/** A Deployment whose pods are bound to the node by their template, so that no cordon keeps them away. */
function pinned(name: string, witness: string): object {
  const made = deployment(name, { stopSec: 1, witness }) as { spec: { template: { spec: object } } };
  const { template } = made.spec;
  return { ...made, spec: { ...made.spec, template: { ...template, spec: { ...template.spec, nodeName: NODE } } } };
}

async function statusOf(rig: OwnDrainRig): Promise<NodeStatus | undefined> {
  return (await maintenance(rig))?.status?.nodeStatuses?.[0];
}

/** Waits until the maintenance and the machine name a pod that came back, and the machine is let go all the same. */
async function assertLetGo(rig: OwnDrainRig): Promise<void> {
  const isNamed = async (): Promise<boolean> => {
    const found = (await statusOf(rig))?.podsBlocking?.find(({ reason }) => reason === 'Returning');
    return (
      found?.name.startsWith('pinned-') === true && /made by ReplicaSet .* after the drain began/.test(found.message)
    );
  };
  await waitFor('the maintenance names a pod that came back', isNamed, SLOW);
  await waitFor('the machine is let go', () => phaseIs(rig, 'released'), LONG);
  const { stdout } = await runNodemaint(['status', '--run-directory', rig.runDirectory]);
  // Without a lock the agent stops no kubelet.
  assert.match(stdout, /nobody on this machine can end pods .*default\/pinned-/);
  const order = await lines(rig);
  assert.ok(order.filter((line) => line === 'pinned TERM').length > 2, `it is evicted again: ${order.join(', ')}`);
  for (const name of ['logger', 'low', 'high'])
    assert.ok(order.includes(`${name} END`), `${name}: ${order.join(', ')}`);
}

describe('pods that come back to a machine that goes down, on a real control plane with a real kubelet', () => {
  it('the controller evicts them again, and the machine is let go after a minute of it', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = await buildOwnDrainRig(stack, (witness) => [pinned('pinned', witness)], 1);
    startController(stack, rig.folder, rig.controllerProxy.kubeconfig);
    await startAgent(stack, rig);
    await trigger(rig);
    await assertLetGo(rig);
    const events = await rig.controlPlane.kubectl(['get', 'events', '-A', '-o', 'jsonpath={.items[*].message}']);
    assert.match(events, /the drain by Returning: default\/pinned-/);
  });
});

describe('a drain by a person, on a real API server', () => {
  it('the drain of a node with a static pod from a URL ends, and says that the pod stays', async () => {
    await using rig = await buildEvictionRig();
    const { kubectl } = rig.controlPlane;
    const uid = await kubectl(['get', 'node', DRAINED_NODE, '-o', 'jsonpath={.metadata.uid}']);
    const owner = { apiVersion: 'v1', kind: 'Node', name: DRAINED_NODE, uid, controller: true };
    const annotations = { [MIRROR_ANNOTATION]: 'a'.repeat(32), [SOURCE_ANNOTATION]: 'http' };
    const spec = { nodeName: DRAINED_NODE, containers: [{ name: 'main', image: 'none.invalid/none' }] };
    const metadata = { name: 'from-url', namespace: 'default', annotations, ownerReferences: [owner] };
    await kubectl(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata, spec }));
    const controller = await rig.startController();
    await using _stopped = { [Symbol.asyncDispose]: () => controller.stop() };
    await kubectl(['apply', '-f', '-'], JSON.stringify(drainOf('by-a-person', [DRAINED_NODE])));
    const drained = async (): Promise<string> =>
      await kubectl(['get', 'nm', 'by-a-person', '-o', 'jsonpath={.status.conditions[?(@.type=="Drained")]}']);
    const hasEnded = async (): Promise<boolean> => {
      const { status, message } = JSON.parse(await drained()) as { status: string; message: string };
      return status === 'True' && /What stays: .*staticPodURL.*: default\/from-url\.$/.test(message);
    };
    await waitFor('the drain ends', hasEnded, SLOW);
    assert.match(await kubectl(['get', 'pod', 'from-url', '-o', 'name']), /from-url/);
  });
});
