import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest } from '../../../../src/api/eviction-request.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import type { ControllerContext } from '../../../../src/controller/context.ts';
import { createDrainObserver, type DrainObservation } from '../../../../src/controller/maintenance/observer.ts';
import { transformPod } from '../../../../src/kube/copy/transform.ts';
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

/** A leader since `begunAt`, with a maintenance of the node one and at most two evictions in flight there. */
function leaderSince(
  begunAt: number,
  pods: readonly Pod[],
  requests: readonly EvictionRequest[],
): (now: number) => DrainObservation {
  const maintenance = drainOf('m', ['one']);
  const node = { metadata: { name: 'one', uid: 'uid-one' } };
  const indexes = indexesOf({ maintenances: [maintenance], requests, pods, nodes: [node] }, { now: () => begunAt });
  const part = {
    options: { maxEvictionsPerNode: 2, maxEvictionTime: 60 * MINUTE },
    ungated: { on: () => [] },
    ...indexes,
  };
  const observer = createDrainObserver(part as unknown as ControllerContext);
  return (now) => observer.observe(maintenance, now);
}

function observe(pods: readonly Pod[], requests: readonly EvictionRequest[]): DrainObservation {
  return leaderSince(NOW, pods, requests)(NOW);
}

/** A critical pod that somebody has annotated as being evicted in the background; `written` are the writes of that annotation. */
function annotated(name: string, ...written: readonly string[]): Pod {
  const annotation = 'descheduler.alpha.kubernetes.io/eviction-in-progress';
  const fieldsV1 = { 'f:metadata': { 'f:annotations': { [`f:${annotation}`]: {} } } };
  const managedFields = written.map((time) => ({ manager: 'virt-controller', time, fieldsV1 }));
  const metadata = { ...podOf(name).metadata, annotations: { [annotation]: '' }, managedFields };
  return transformPod({ metadata, spec: { nodeName: 'one', priority: 2_000_000_000 } });
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
    assert.deepEqual(requestedOf([podOf('a'), podOf('b'), annotated('z')], []), ['a']);
  });

  it('an annotation that stays leaves its place to others when it was seen for longer than the time', () => {
    const observed = leaderSince(NOW, [podOf('a'), podOf('b'), annotated('z')], []);
    assert.equal(observed(NOW + 59 * MINUTE).intents.length, 1);
    assert.equal(observed(NOW + 60 * MINUTE).intents.length, 2);
  });

  it('a new leader counts from when the annotation was written, and not from a time that is still to come', () => {
    const at = (ms: number): string => new Date(ms).toISOString();
    const after = (...written: readonly string[]): number =>
      leaderSince(NOW, [podOf('a'), podOf('b'), annotated('z', ...written)], [])(NOW + MINUTE).intents.length;
    assert.equal(after(at(NOW - 60 * MINUTE)), 2);
    assert.equal(after(at(NOW - MINUTE)), 1);
    assert.equal(after(at(NOW), at(NOW - 60 * MINUTE)), 2);
    const observed = leaderSince(NOW, [podOf('a'), podOf('b'), annotated('z', '2099-01-01T00:00:00Z')], []);
    assert.equal(observed(NOW + 60 * MINUTE).intents.length, 2);
  });

  it('the evictions that are blocked for longer than the time leave their place to others, and go on', () => {
    const blocked = requestOf('x', 'nodemaintenance.k8s.io', 90 * MINUTE);
    assert.deepEqual(requestedOf(pods, [blocked]), ['a', 'b', 'x']);
  });

  it('a maintenance with pods beyond the limits is observed again a second later, whatever happens on its nodes', () => {
    assert.equal(observe(pods, []).againAt, NOW + 1_000);
    assert.equal(observe(pods.slice(0, 2), []).againAt, undefined);
  });

  it('the evictions that another maintenance was let have in the same moment count before their requests are seen', () => {
    const nodes = ['one', 'two', 'three'];
    const maintenances = nodes.map((node) => drainOf(`m-${node}`, [node]));
    const indexes = indexesOf(
      {
        maintenances,
        requests: [],
        pods: nodes.flatMap((node) => ['a', 'b'].map((name) => podOf(`${name}-${node}`, node))),
        nodes: nodes.map((name) => ({ metadata: { name, uid: `uid-${name}` } })),
      },
      { now: () => NOW },
    );
    const options = { maxEvictionsPerNamespace: 3, maxEvictionTime: 60 * MINUTE };
    const part = { options, ungated: { on: () => [] }, ...indexes };
    const observer = createDrainObserver(part as unknown as ControllerContext);
    const admitted = (): readonly number[] => maintenances.map((each) => observer.observe(each, NOW).intents.length);
    assert.deepEqual(admitted(), [2, 1, 0]);
    assert.deepEqual(admitted(), [2, 1, 0], 'whoever was let have a place keeps it');
    observer.forget('m-one');
    const found = maintenances.slice(1).map((each) => observer.observe(each, NOW).intents.length);
    assert.deepEqual(found, [2, 1]);
  });
});
