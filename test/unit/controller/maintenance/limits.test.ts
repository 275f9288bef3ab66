import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest } from '../../../../src/api/eviction-request.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import type { ControllerContext } from '../../../../src/controller/context.ts';
import { createDrainObserver, type DrainObservation } from '../../../../src/controller/maintenance/observer.ts';
import { indexesOf } from '../../../support/maintenance/indexes.ts';
import { drainOf } from '../../../support/maintenance/objects.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const MINUTE = 60_000;

function podOf(name: string, nodeName = 'one'): Pod {
  return { metadata: { name, namespace: 'n', uid: `uid-${name}` }, spec: { nodeName, priority: 0 } };
}

function requestOf(pod: string, requester: string, ageMs: number): EvictionRequest {
  const creationTimestamp = new Date(NOW - ageMs).toISOString();
  return {
    metadata: { name: `uid-${pod}`, namespace: 'n', creationTimestamp },
    spec: { target: { pod: { name: pod, uid: `uid-${pod}` } }, requesters: [{ name: requester }] },
  };
}

/** A maintenance of the node one, with at most two evictions in flight there. */
function observe(pods: readonly Pod[], requests: readonly EvictionRequest[]): DrainObservation {
  const maintenance = drainOf('m', ['one']);
  const node = { metadata: { name: 'one', uid: 'uid-one' } };
  const part = {
    options: { maxEvictionsPerNode: 2, maxEvictionTime: 60 * MINUTE },
    ungated: { on: () => [] },
    ...indexesOf({ maintenances: [maintenance], requests, pods, nodes: [node] }),
  };
  return createDrainObserver(part as unknown as ControllerContext).observe(maintenance, NOW);
}

/** The pods whose eviction that maintenance asks for. */
function requestedOf(pods: readonly Pod[], requests: readonly EvictionRequest[]): readonly string[] {
  return observe(pods, requests)
    .intents.map(({ pod }) => pod.name)
    .toSorted();
}

describe('the evictions that a maintenance asks for within the limits', () => {
  const pods = ['a', 'b', 'x', 'y'].map((name) => podOf(name));

  it('the evictions that others have asked for count and are preferred', () => {
    const others = ['x', 'y'].map((pod) => requestOf(pod, 'descheduler.sigs.k8s.io', MINUTE));
    assert.deepEqual(requestedOf(pods, others), ['x', 'y']);
  });

  it('the evictions of pods that the maintenance does not target yet count too', () => {
    const critical = { ...podOf('z'), spec: { nodeName: 'one', priority: 2_000_000_000 } };
    assert.deepEqual(requestedOf([podOf('a'), podOf('b'), critical], [requestOf('z', 'x.example.com', MINUTE)]), ['a']);
  });

  it('the evictions in the background count that only their annotation shows', () => {
    const annotations = { 'descheduler.alpha.kubernetes.io/eviction-in-progress': '' };
    const critical: Pod = {
      metadata: { ...podOf('z').metadata, annotations },
      spec: { nodeName: 'one', priority: 2_000_000_000 },
    };
    assert.deepEqual(requestedOf([podOf('a'), podOf('b'), critical], []), ['a']);
  });

  it('the evictions that are blocked for longer than the time leave their place to others, and go on', () => {
    const blocked = requestOf('x', 'nodemaintenance.k8s.io', 90 * MINUTE);
    assert.deepEqual(requestedOf(pods, [blocked]), ['a', 'b', 'x']);
  });

  it('a maintenance with pods beyond the limits is observed again a second later, whatever happens on its nodes', () => {
    assert.equal(observe(pods, []).againAt, NOW + 1_000);
    assert.equal(observe(pods.slice(0, 2), []).againAt, undefined);
  });
});
