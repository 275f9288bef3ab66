import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../../src/api/pod.ts';
import {
  ungatedDaemonSets,
  forgetGated,
  forgetNodes,
  noteRemoval,
  type Removal,
  removalWaitMs,
} from '../../../../src/decide/daemon-set/ungated.ts';
import { rfc3339 } from '../../../../src/decide/time.ts';
import { createSystemClock } from '../../../../src/host/clock.ts';
import { UngatedDaemonSets } from '../../../../src/kube/eviction/ungated-daemon-sets.ts';

describe('a DaemonSet that ignores the gate', () => {
  const removal = (uid: string, node = 'a', at = 0): Removal => ({ daemonSet: 'default/logger', node, uid, at });
  const after = (...uids: readonly string[]): readonly Removal[] =>
    uids.reduce<readonly Removal[]>((all, uid) => noteRemoval(all, removal(uid)), []);

  it('a DaemonSet has escaped whose pods came back three times after the first was removed; a pod counts once', () => {
    assert.deepEqual(ungatedDaemonSets(after('1', '2', '2', '3'), 'a'), []);
    assert.deepEqual(ungatedDaemonSets(after('1', '2', '3', '4'), 'a'), ['default/logger']);
    assert.deepEqual(ungatedDaemonSets(after('1', '2', '3', '4'), 'b'), []);
    assert.equal(removalWaitMs(after('1', '2'), removal('3')).returns, 2);
    assert.equal(removalWaitMs(after('1', '2'), removal('2')).returns, 1);
  });

  it('a DaemonSet has not escaped any more when the gate holds one of its pods, or the node is not drained', () => {
    const removals = after('1', '2', '3', '4');
    assert.deepEqual(forgetGated(removals, 'default/logger', 'a'), []);
    assert.deepEqual(forgetGated(removals, 'default/other', 'a'), removals);
    const found = forgetNodes([...removals, removal('5', 'b')], (node) => node === 'b');
    assert.deepEqual(found, [removal('5', 'b')]);
  });

  it('the pods of an escaped DaemonSet are removed at growing intervals, up to a limit', () => {
    const waitAfter = (returns: number): number =>
      removalWaitMs(after(...Array.from({ length: returns }, (_, index) => String(index))), removal('next')).inMs;
    assert.deepEqual([0, 1, 2, 3, 4, 5, 6, 60].map(waitAfter), [0, 0, 0, 2_000, 4_000, 8_000, 15_000, 15_000]);
  });

  it('a pod of an escaped DaemonSet waits for the interval after the last removal on its node', () => {
    const removals = ['1', '2', '3'].map((uid, index) => removal(uid, 'a', index * 1_000));
    const waitAt = (at: number, node = 'a'): number => removalWaitMs(removals, removal('4', node, at)).inMs;
    const found = [2_000, 2_500, 3_999, 4_000, 9_000].map((at) => waitAt(at));
    assert.deepEqual(found, [2_000, 1_500, 1, 0, 0]);
    assert.equal(waitAt(2_000, 'b'), 0);
    assert.deepEqual(removalWaitMs(removals.slice(0, 2), removal('3', 'a', 1_000)), { inMs: 0, returns: 2 });
    assert.deepEqual(removalWaitMs([], removal('1')), { inMs: 0, returns: 0 });
  });

  it('a pod of an escaped DaemonSet is removed also where the wall clock is an hour behind the API server', () => {
    let monotonic = 0;
    const clock = { ...createSystemClock(), now: () => -3_600_000, monotonic: () => monotonic };
    const ungated = new UngatedDaemonSets(clock);
    const podOf = (uid: string): Pod => {
      const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd', controller: true }];
      const metadata = { name: uid, namespace: 'default', uid, ownerReferences, creationTimestamp: rfc3339(0) };
      return { metadata, spec: { nodeName: 'a' } };
    };
    for (const uid of ['1', '2', '3']) ungated.removed(podOf(uid));
    assert.equal(ungated.due(podOf('4')).inMs, 2_000);
    monotonic += 2_000;
    assert.equal(ungated.due(podOf('4')).inMs, 0);
    assert.ok(ungated.hasRemoved(podOf('3')) && !ungated.hasRemoved(podOf('4')));
    monotonic += 30_000;
    assert.ok(!ungated.hasRemoved(podOf('3')), 'a copy shows it by then, or it was in vain');
  });
});
