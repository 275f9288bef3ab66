import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BlockingPod, NodeMaintenanceStatus } from '../../../../src/api/node-maintenance.ts';
import { drainEvents } from '../../../../src/decide/drain/events.ts';

function statusOf(
  is: 'True' | 'False',
  reason: string,
  drainPlanPosition: number,
  podsBlocking: readonly BlockingPod[] = [],
): NodeMaintenanceStatus {
  return {
    drainPlanPosition,
    nodeStatuses: [{ nodeRef: { name: 'one' }, podsBlocking }],
    conditions: [{ type: 'Drained', status: is, reason, message: `It is ${reason}.`, lastTransitionTime: '' }],
  };
}

const blocking = (name: string, message: string): BlockingPod => {
  return { namespace: 'n', name, reason: 'PodDisruptionBudget', message, since: '' };
};

describe('the Events of a drain', () => {
  const waiting = statusOf('False', 'Waiting', 0);
  const begun = statusOf('False', 'Draining', 1);
  const drained = statusOf('True', 'DrainCompleted', 12);
  const cases: readonly [string, NodeMaintenanceStatus | undefined, NodeMaintenanceStatus, readonly string[]][] = [
    ['say that it begins', undefined, begun, ['Normal DrainBegun: The drain has begun: one.']],
    ['say that it waits', undefined, waiting, ['Normal DrainWaiting: It is Waiting.']],
    ['say that it begins after it has waited', waiting, begun, ['Normal DrainBegun: The drain has begun: one.']],
    ['say that it is drained', begun, drained, ['Normal Drained: It is DrainCompleted.']],
    ['say nothing of an empty selector', undefined, statusOf('False', 'NoNodes', 0), []],
    ['say nothing when only a position changes', begun, statusOf('False', 'Draining', 4), []],
    ['say nothing twice', drained, drained, []],
  ];
  for (const [what, before, after, expected] of cases) {
    it(`the Events ${what}`, () => {
      const events = drainEvents(before, after).map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
      assert.deepEqual(events, expected);
    });
  }

  it('the Events name each pod that begins to block, and not again when only its message changes', () => {
    const first = statusOf('False', 'Draining', 1, [blocking('a', 'retries: 1')]);
    const next = statusOf('False', 'Draining', 1, [blocking('a', 'retries: 2'), blocking('b', '')]);
    const text = 'The drain of node one waits for pod n/b: PodDisruptionBudget.';
    assert.deepEqual(drainEvents(first, next), [{ type: 'Warning', reason: 'DrainBlocked', message: text }]);
  });

  it('the Events name ten blocking pods at most in one step', () => {
    const pods = Array.from({ length: 20 }, (_, index) => blocking(`p-${index}`, ''));
    assert.equal(drainEvents(begun, statusOf('False', 'Draining', 1, pods)).length, 10);
  });
});
