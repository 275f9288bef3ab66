import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest } from '../../../../src/api/eviction-request.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { decideWakeUps } from '../../../../src/decide/disruption-budget/covers.ts';
import {
  afterAttempt,
  decideEvictionStep,
  NO_ATTEMPT,
  rememberedAttempts,
  withoutPauseIfUnready,
} from '../../../../src/decide/eviction/imperative.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const PATIENCE = { takeOverMs: 60_000, promiseMs: 600_000 };
const SELF = 'imperative-eviction.k8s.io';

function pod(annotations: Record<string, string> = {}, extra: Partial<Pod['metadata']> = {}): Pod {
  return {
    metadata: { name: 'p-1', namespace: 'default', uid: 'u-1', labels: { app: 'a' }, annotations, ...extra },
    spec: { nodeName: 'n' },
  };
}

function request(entry: object = {}): EvictionRequest {
  return {
    metadata: { name: 'u-1', namespace: 'default', uid: 'r-1' },
    spec: { target: { pod: { name: 'p-1', uid: 'u-1' } }, requesters: [{ name: 'a.example.com' }] },
    status: { activeInterceptors: [SELF], interceptors: [{ name: SELF, message: '', ...entry }] },
  };
}

describe('the imperative interceptor', () => {
  const step = (
    target: Pod,
    entry: object = {},
    memory: object = {},
    now = NOW,
  ): ReturnType<typeof decideEvictionStep> =>
    decideEvictionStep({ request: request(entry), pod: target }, { ...NO_ATTEMPT, ...memory }, PATIENCE, now);

  it('the interceptor evicts an ordinary pod', () => {
    assert.deepEqual(step(pod()), { kind: 'evict' });
  });
  it('the interceptor continues its count after a restart', () => {
    const message = 'Could not evict a pod due to failing eviction requests, number of retries: 7. x';
    assert.deepEqual(rememberedAttempts(request({ message })), { ...NO_ATTEMPT, count: 7 });
  });
  it('the interceptor makes no attempt on a terminating, a mirror or a DaemonSet pod', () => {
    const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd', controller: true };
    const pods = [
      pod({}, { deletionTimestamp: '2026-01-01T00:00:30Z' }),
      pod({ 'kubernetes.io/config.mirror': 'x' }),
      pod({}, { ownerReferences: [owner] }),
    ];
    const found = pods.map((target) => step(target).kind);
    assert.deepEqual(found, ['wait', 'wait', 'wait']);
  });
  it('the interceptor makes no attempt before its time, nor twice before the pod shows the first', () => {
    assert.equal(step(pod(), {}, { count: 3, nextAt: NOW + 5_000 }).kind, 'wait');
    const { memory } = afterAttempt(pod(), NO_ATTEMPT, { kind: 'accepted' }, NOW);
    assert.equal(step(pod(), {}, memory, NOW + 1_000).kind, 'wait');
  });
  it('the interceptor does not count an answer that is not about the pod', () => {
    const outcome = { kind: 'postponed', retryAfterMs: 1_000, message: 'busy' } as const;
    const before = { ...NO_ATTEMPT, count: 3, postponed: 1 };
    assert.deepEqual(afterAttempt(pod(), before, outcome, NOW).memory, {
      ...NO_ATTEMPT,
      count: 3,
      nextAt: NOW + 1_000,
      postponed: 2,
    });
  });

  it('the interceptor asks once more at once when a pod that a budget blocks is not ready any more', () => {
    const outcome = {
      kind: 'blocked',
      retryAfterMs: 900_000,
      message: 'm',
      budgets: ['b'],
      byBudget: true,
      untilChange: false,
    } as const;
    const { memory } = afterAttempt(pod(), NO_ATTEMPT, outcome, NOW);
    const unready: Pod = { ...pod(), status: { conditions: [{ type: 'Ready', status: 'False' }] } };
    assert.equal(withoutPauseIfUnready(memory, pod()).nextAt, NOW + 900_000);
    const woken = withoutPauseIfUnready(memory, unready);
    assert.equal(woken.nextAt, 0);
    const again = afterAttempt(unready, woken, outcome, NOW).memory;
    assert.equal(withoutPauseIfUnready(again, unready).nextAt, NOW + 900_000, 'it was not ready before');
    const elsewhere = afterAttempt(pod(), NO_ATTEMPT, { ...outcome, budgets: [], byBudget: false }, NOW).memory;
    assert.equal(withoutPauseIfUnready(elsewhere, unready).nextAt, NOW + 900_000, 'no budget is in the way');
  });

  describe('the policy ControllerTakeOver', () => {
    const policy = { 'coordination.x-k8s.io/evict-policy': 'ControllerTakeOver' };
    const marked = { ...policy, 'kubernetes.io/pod-evict-wanted': 'true' };
    it('the interceptor marks the pod first', () => {
      assert.equal(step(pod(policy)).kind, 'mark');
    });
    it('the interceptor counts from the mark, however long it has been at work before', () => {
      const long = { startTime: '2025-12-31T12:00:00Z', message: 'x' };
      assert.equal(step(pod(policy), long).kind, 'mark');
      assert.equal(step(pod(marked), long, { markedAt: NOW }, NOW + 59_999).kind, 'wait');
      assert.equal(step(pod(marked), long, { markedAt: NOW }, NOW + 60_000).kind, 'evict');
      const told = { ...long, expectedFinishTime: '2026-01-01T00:01:00Z' };
      assert.equal(step(pod(marked), told, {}, NOW + 59_999).kind, 'wait', 'after a restart');
      assert.equal(step(pod(marked), told, {}, NOW + 60_000).kind, 'evict');
    });
    it('the interceptor falls back after the time-out where nobody can mark the pod', () => {
      const waiting = step(pod(policy), {}, { markedAt: NOW }, NOW + 59_000);
      assert.deepEqual([waiting.kind, waiting.kind === 'mark' && waiting.againMs], ['mark', 1_000]);
      assert.equal(step(pod(policy), {}, { markedAt: NOW }, NOW + 60_000).kind, 'evict');
    });
    it('the interceptor remembers the mark over the attempts that follow it', () => {
      const after = afterAttempt(pod(marked), { ...NO_ATTEMPT, markedAt: NOW }, { kind: 'gone' }, NOW + 60_000);
      assert.equal(after.memory.markedAt, NOW);
    });
    it('the interceptor does none of this for any other policy', () => {
      assert.equal(step(pod({ 'coordination.x-k8s.io/evict-policy': 'Default' })).kind, 'evict');
    });
  });

  describe('a promise of an eviction', () => {
    const evictOnly = { 'descheduler.alpha.kubernetes.io/request-evict-only': '' };
    const inProgress = { ...evictOnly, 'descheduler.alpha.kubernetes.io/eviction-in-progress': '' };
    const { memory } = afterAttempt(
      pod(evictOnly),
      { ...NO_ATTEMPT, count: 4 },
      { kind: 'promised', message: 'm' },
      NOW,
    );
    it('the interceptor believes a promise until its time is over, then asks again', () => {
      assert.equal(step(pod(evictOnly), {}, memory, NOW + 599_999).kind, 'wait');
      assert.equal(step(pod(evictOnly), {}, memory, NOW + 600_000).kind, 'evict');
    });
    it('the interceptor counts anew after a promise, as the message does', () => {
      assert.equal(memory.count, 0);
    });
    it('the interceptor does not ask for a pod that has both annotations, whenever it got the second one', () => {
      const refused = { count: 3, nextAt: NOW };
      assert.equal(step(pod(evictOnly), {}, refused).kind, 'evict');
      const [first, later] = [step(pod(inProgress), {}, refused), step(pod(inProgress), {}, memory, NOW + 10_000_000)];
      assert.deepEqual([first.kind, later.kind], ['wait', 'wait'], 'KEP-1397: not evicted more than once');
      assert.equal(step(pod(inProgress)).kind, 'wait', 'after a restart too');
    });
    it('the interceptor asks for a pod in the background when the deadline of its node leaves no more time', () => {
      const patience = { ...PATIENCE, trustUntil: NOW + 60_000 };
      const at = (afterMs: number, known = NO_ATTEMPT): string =>
        decideEvictionStep({ request: request(), pod: pod(inProgress) }, known, patience, NOW + afterMs).kind;
      const again = { ...memory, promisedAt: NOW + 60_000 };
      for (const known of [NO_ATTEMPT, memory])
        assert.deepEqual([at(59_999, known), at(60_000, known)], ['wait', 'evict']);
      assert.deepEqual([at(61_000, again), at(660_000, again)], ['wait', 'evict'], 'once');
    });
  });
});

describe('the change of a PodDisruptionBudget', () => {
  const blocked = ['1', '2', '3'].map((key) => ({ key, pod: pod(), blockedBy: ['pdb'], untilChange: false }));
  const budget = (disruptionsAllowed: number, app = 'a'): Parameters<typeof decideWakeUps>[1] => ({
    metadata: { name: 'pdb', namespace: 'default' },
    spec: { selector: { matchLabels: { app } } },
    status: { disruptionsAllowed },
  });
  it('the change of a budget wakes all that it blocked when it is gone', () => {
    assert.deepEqual(decideWakeUps('pdb', undefined, blocked), ['1', '2', '3']);
  });
  it('the change of a budget wakes as many as it lets through', () => {
    assert.deepEqual(decideWakeUps('pdb', budget(2), blocked), ['1', '2']);
    assert.deepEqual(decideWakeUps('pdb', budget(0), blocked), []);
  });
  it('the change of a budget wakes those that it no longer covers', () => {
    assert.deepEqual(decideWakeUps('pdb', budget(0, 'other'), blocked), ['1', '2', '3']);
  });
  it('room in one of two budgets wakes no pod that both cover, and the end of one of them does', () => {
    const both = blocked.map((each) => ({ ...each, blockedBy: ['pdb', 'pdb-2'], untilChange: true }));
    assert.deepEqual(decideWakeUps('pdb', budget(2), both), []);
    assert.deepEqual(decideWakeUps('pdb', budget(0, 'other'), both), ['1', '2', '3']);
    assert.deepEqual(decideWakeUps('pdb', undefined, both), ['1', '2', '3']);
  });
  it('the change of a budget wakes no pod that another budget blocked', () => {
    assert.deepEqual(decideWakeUps('other', undefined, blocked), []);
  });
});
