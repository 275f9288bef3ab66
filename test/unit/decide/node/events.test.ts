import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BlockingPod, NodeMaintenanceStatus, PodType } from '../../../../src/api/node-maintenance.ts';
import { drainEvents } from '../../../../src/decide/node/events.ts';

function statusOf(
  is: 'True' | 'False',
  reason: string,
  drainPlanPosition: number,
  podsBlocking: readonly BlockingPod[] = [],
): NodeMaintenanceStatus {
  const begin = drainPlanPosition === 0 ? {} : { drainStartTime: '2026-01-01T00:00:00Z' };
  return {
    drainPlanPosition,
    nodeStatuses: [{ nodeRef: { name: 'one' }, podsBlocking, ...begin }],
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
    ['say nothing of its beginning', undefined, begun, []],
    ['say that it waits', undefined, waiting, ['Normal DrainWaiting: It is Waiting.']],
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

  it('the Events tell once of each reason that begins to block, with the pods that it blocks', () => {
    const first = statusOf('False', 'Draining', 1, [blocking('a', 'retries: 1')]);
    const next = statusOf('False', 'Draining', 1, [blocking('a', 'retries: 2'), blocking('b', '')]);
    const ends = '; whoever keeps the budget can end that.';
    const blocked = (message: string) => ({ type: 'Warning', reason: 'DrainBlocked', message: `${message}${ends}` });
    assert.deepEqual(drainEvents(begun, first), [blocked('1 pod blocks the drain by PodDisruptionBudget: n/a')]);
    assert.deepEqual(drainEvents(begun, next), [blocked('2 pods block the drain by PodDisruptionBudget: n/a, n/b')]);
    assert.deepEqual(drainEvents(first, next), [], 'the reason is known');
  });

  it('the Event says what to do where nobody ends a static pod', () => {
    const pod = { ...blocking('etcd', 'no agent has reported, and a person has to act'), reason: 'NoAgent' } as const;
    const [event] = drainEvents(begun, statusOf('False', 'Draining', 1, [pod]));
    const expected = '1 pod blocks the drain by NoAgent: n/etcd; no agent has reported, and a person has to act.';
    assert.equal(event?.message, expected);
  });

  it('the Events tell once of a reason, however many pods it blocks', () => {
    const pods = Array.from({ length: 20 }, (_, index) => blocking(`p-${index}`, ''));
    const [event, ...more] = drainEvents(begun, statusOf('False', 'Draining', 1, pods));
    assert.match(event?.message ?? '', /^20 pods block the drain by PodDisruptionBudget: n\/p-0/);
    assert.ok((event?.message.length ?? 0) < 200);
    assert.equal(more.length, 0);
  });

  it('the Events tell of each type of pods that the furthest node comes to', () => {
    const at = (...tiers: readonly PodType[]): NodeMaintenanceStatus => ({
      ...begun,
      nodeStatuses: [
        { nodeRef: { name: 'one' }, drainTargets: tiers.map((podType) => ({ podType, podPriority: 1 })) },
        { nodeRef: { name: 'two' }, drainTargets: [{ podType: 'Default', podPriority: 1 }] },
      ],
    });
    const messages = (before: NodeMaintenanceStatus, after: NodeMaintenanceStatus): readonly string[] =>
      drainEvents(before, after).map(({ reason, message }) => `${reason}: ${message}`);
    assert.deepEqual(messages(begun, at('Default')), []);
    assert.deepEqual(messages(at('Default'), at('Default', 'DaemonSet')), [
      'TierBegun: The drain has come to DaemonSet pods.',
    ]);
    assert.deepEqual(messages(at('Default'), at('Default', 'DaemonSet', 'Static')), [
      'TierBegun: The drain has come to static pods.',
    ]);
    assert.deepEqual(messages(at('DaemonSet'), at('DaemonSet')), []);
    const { conditions = [] } = drained;
    const over = { ...at('Default', 'DaemonSet', 'Static'), conditions };
    assert.deepEqual(messages(at('Default'), over), ['Drained: It is DrainCompleted.'], 'there are no static pods');
  });
});
