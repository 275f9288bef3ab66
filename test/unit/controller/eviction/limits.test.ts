import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest } from '../../../../src/api/eviction-request.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import type { ControllerContext } from '../../../../src/controller/context.ts';
import { EvictionRoom } from '../../../../src/controller/eviction/limits.ts';
import { transformPod } from '../../../../src/kube/cache/transform.ts';
import { indexesOf } from '../../../support/maintenance/indexes.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
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

/** The pods, by their names, that a leader since NOW lets be evicted at this time: at most two are in flight on a node. */
function takenAt(now: number, pods: readonly Pod[], requests: readonly EvictionRequest[]): readonly string[] {
  const options = { maxEvictionsPerNode: 2, maxEvictionTime: 60 * MINUTE };
  const clock = { now: () => now, monotonic: () => now };
  const part = { options, clock, ...indexesOf({ requests, pods }, { now: () => NOW }) };
  const room = new EvictionRoom(part as unknown as ControllerContext);
  const wanted = pods.filter(({ spec }) => spec.priority === 0);
  const taken = wanted.filter((pod) => room.take(pod)).map(({ metadata }) => metadata.name);
  for (const pod of wanted) assert.equal(room.isWaiting(pod), !taken.includes(pod.metadata.name));
  return taken;
}

/** A critical pod that somebody has annotated as being evicted in the background; `written` are the writes of that annotation. */
function annotated(name: string, ...written: readonly string[]): Pod {
  const annotation = 'descheduler.alpha.kubernetes.io/eviction-in-progress';
  const fieldsV1 = { 'f:metadata': { 'f:annotations': { [`f:${annotation}`]: {} } } };
  const managedFields = written.map((time) => ({ manager: 'virt-controller', time, fieldsV1 }));
  const metadata = { ...podOf(name).metadata, annotations: { [annotation]: '' }, managedFields };
  return transformPod({ metadata, spec: { nodeName: 'one', priority: 2_000_000_000 } });
}

describe('the room for evictions within the limits', () => {
  const pods = ['a', 'b', 'x', 'y'].map((name) => podOf(name));

  it('the evictions that others have asked for count and are preferred', () => {
    const others = ['x', 'y'].map((pod) => requestOf(pod, 'descheduler.sigs.k8s.io', MINUTE));
    assert.deepEqual(takenAt(NOW, pods, others), ['x', 'y']);
  });

  it('the evictions of pods that no drain targets yet count too', () => {
    const critical = { ...podOf('z'), spec: { nodeName: 'one', priority: 2_000_000_000 } };
    const others = [requestOf('z', 'x.example.com', MINUTE)];
    assert.deepEqual(takenAt(NOW, [podOf('a'), podOf('b'), critical], others), ['a']);
  });

  it('the evictions in the background count that only their annotation shows', () => {
    assert.deepEqual(takenAt(NOW, [podOf('a'), podOf('b'), annotated('z')], []), ['a']);
  });

  it('an annotation that stays leaves its place to others when it was seen for longer than the time', () => {
    const all = [podOf('a'), podOf('b'), annotated('z')];
    assert.equal(takenAt(NOW + 59 * MINUTE, all, []).length, 1);
    assert.equal(takenAt(NOW + 60 * MINUTE, all, []).length, 2);
  });

  it('a new leader counts from when the annotation was written, and not from a time that is still to come', () => {
    const at = (ms: number): string => new Date(ms).toISOString();
    const after = (ms: number, ...written: readonly string[]): number =>
      takenAt(NOW + ms, [podOf('a'), podOf('b'), annotated('z', ...written)], []).length;
    assert.equal(after(MINUTE, at(NOW - 60 * MINUTE)), 2);
    assert.equal(after(MINUTE, at(NOW - MINUTE)), 1);
    assert.equal(after(MINUTE, at(NOW), at(NOW - 60 * MINUTE)), 2);
    assert.equal(after(60 * MINUTE, '2099-01-01T00:00:00Z'), 2);
  });

  it('the evictions that are blocked for longer than the time leave their place to others, and go on', () => {
    const blocked = requestOf('x', 'nodemaintenance.k8s.io', 90 * MINUTE);
    assert.deepEqual(takenAt(NOW, pods, [blocked]), ['a', 'b', 'x']);
  });

  it('a place is kept before the request is seen, and given back with the pod that no drain wants any more', () => {
    const own = ['one', 'two', 'three'].flatMap((node) => ['a', 'b'].map((name) => podOf(`${name}-${node}`, node)));
    let now = NOW;
    const clock = { now: () => now, monotonic: () => now };
    const options = { maxEvictionsPerNamespace: 3, maxEvictionTime: 60 * MINUTE };
    const part = { options, clock, ...indexesOf({ pods: own }, clock) };
    const room = new EvictionRoom(part as unknown as ControllerContext);
    const taken = (): readonly string[] => own.filter((pod) => room.take(pod)).map(({ metadata }) => metadata.name);
    const first = ['a-one', 'b-one', 'a-two'];
    assert.deepEqual(taken(), first);
    now += 1_000;
    assert.deepEqual(taken(), first, 'whoever was let have a place keeps it');
    room.release('n/uid-b-one');
    now += 1_000;
    assert.ok(room.take(own[5] ?? assert.fail()));
    assert.ok(!room.take(own[1] ?? assert.fail()));
  });
});
