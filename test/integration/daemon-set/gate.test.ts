import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { EvictionRequest } from '../../../src/api/eviction-request.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { isGated } from '../../../src/decide/daemon-set/gate.ts';
import { targetNodeOf } from '../../../src/decide/pod.ts';
import { withoutMutatingPolicies } from '../../control-plane/releases.ts';
import { startNode } from '../../node/node.ts';
import { daemonSet } from '../../node/pods.ts';
import { podsOf } from '../../support/rigs/daemon-set.ts';
import { buildEvictionRig, type EvictionRig } from '../../support/rigs/eviction.ts';
import { SLOW, SOON, waitFor } from '../../support/wait-for.ts';
import { drainOf } from '../../support/maintenance/objects.ts';

const A = 'node-a';
const B = 'node-b';

interface LivePod extends Pod {
  readonly status?: Pod['status'] & {
    readonly containerStatuses?: readonly { readonly state?: { readonly running?: { readonly startedAt: string } } }[];
  };
}

/** When the pod's container began to run, in milliseconds since the epoch, to the second. */
function startedAt(pod: LivePod | undefined): number {
  return Date.parse(pod?.status?.containerStatuses?.[0]?.state?.running?.startedAt ?? '');
}

const skip = withoutMutatingPolicies('no pod is gated');

describe('a DaemonSet that tolerates everything, on two real nodes', { skip }, () => {
  let rig: EvictionRig;
  const stack = new AsyncDisposableStack();
  before(async () => {
    rig = stack.use(await buildEvictionRig());
    await rig.controlPlane.kubectl(['delete', 'node', 'node-z']);
    for (const name of [A, B]) stack.use(await startNode(rig.controlPlane, name, AbortSignal.timeout(120_000)));
    await rig.startController();
  });
  after(async () => {
    await stack.disposeAsync();
  });

  const podOn = async (name: string, node: string): Promise<LivePod | undefined> =>
    (await podsOf(rig.controlPlane, name)).find(
      (pod) => targetNodeOf(pod) === node && pod.metadata.deletionTimestamp === undefined,
    );
  const runs = async (name: string, node: string): Promise<boolean> =>
    Number.isFinite(startedAt(await podOn(name, node)));

  /** How many pods the DaemonSet controller has made of the DaemonSet; it writes an Event for each. */
  const made = async (name: string): Promise<number> => {
    const fields = `involvedObject.name=${name},reason=SuccessfulCreate`;
    const text = await rig.controlPlane.kubectl(['get', 'events', '--field-selector', fields, '-o', 'json']);
    const { items } = JSON.parse(text) as { items: { count?: number }[] };
    return items.reduce((sum, { count = 1 }) => sum + count, 0);
  };

  it('the pod leaves when it is targeted, stays away during the drain, does not delay a rolling update elsewhere, and starts when the maintenance is complete', async () => {
    const { kubectl } = rig.controlPlane;
    await kubectl(['apply', '-f', '-'], JSON.stringify(daemonSet('logger', { stopSec: 1 })));
    await kubectl(['apply', '-f', '-'], JSON.stringify(daemonSet('proxy', { stopSec: 1 })));
    await waitFor('it runs on both nodes', async () => (await runs('logger', A)) && (await runs('logger', B)), SLOW);
    await waitFor('so does the other', async () => (await runs('proxy', A)) && (await runs('proxy', B)), SLOW);
    assert.equal(await made('proxy'), 2);
    const first = await podOn('logger', A);
    await kubectl(['apply', '-f', '-'], JSON.stringify(drainOf('firmware', [A], { reason: 'new firmware' })));
    await kubectl(['wait', '--for=condition=Drained', 'nm/firmware', '--timeout=300s']);

    // The DaemonSet controller makes the next pod at the same time as the controller says that the node is drained.
    let held: Pod | undefined;
    const isHeld = async (): Promise<boolean> => {
      held = await podOn('logger', A);
      return held !== undefined && isGated(held);
    };
    await waitFor('its pod for the node waits', isHeld, SOON);
    assert.notEqual(held?.metadata.uid, first?.metadata.uid);
    const text = await kubectl(['get', 'evreq', first?.metadata.uid ?? '', '-o', 'json']);
    const entry = (JSON.parse(text) as EvictionRequest).status?.interceptors?.find(
      ({ name }) => name === 'daemonset.apps.k8s.io',
    );
    assert.equal(entry?.message, 'logger is terminating the pod due to node maintenance (new firmware).');

    // A new template, with a DaemonSet's default maxUnavailable of 1.
    const before = await podOn('logger', B);
    const template = { spec: { template: { metadata: { annotations: { release: '2' } } } } };
    await kubectl(['patch', 'ds', 'logger', '-p', JSON.stringify(template)]);
    await waitFor(
      'node-b has the new template',
      async () => {
        const pod = await podOn('logger', B);
        return pod?.metadata.annotations?.['release'] === '2' && (await runs('logger', B));
      },
      SLOW,
    );
    assert.notEqual((await podOn('logger', B))?.metadata.uid, before?.metadata.uid);
    const waiting = await podOn('logger', A);
    assert.ok(waiting !== undefined && isGated(waiting) && waiting.spec.nodeName === undefined, 'it still stays away');

    await kubectl(['patch', 'nm', 'firmware', '--type=merge', '-p', '{"spec":{"stage":"Complete"}}']);
    await waitFor('it has a node', async () => (await podOn('logger', A))?.spec.nodeName === A);
    await waitFor('it runs again', () => runs('logger', A), SLOW);
    const again = await podOn('logger', A);
    assert.equal(again?.metadata.uid, waiting.metadata.uid, 'it is the pod that waited');
    assert.equal(again?.metadata.annotations?.['release'], '2', 'it has the new template');
    const found = await made('proxy');
    assert.equal(found, 3, 'the drain cost each DaemonSet one pod, also the one that had no rolling update');
  });
});
