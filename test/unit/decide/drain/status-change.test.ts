import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BlockingPod, NodeMaintenanceStatus, NodeStatus } from '../../../../src/api/node-maintenance.ts';
import { type StatusChange, statusChange } from '../../../../src/decide/drain/status-change.ts';

const POD: BlockingPod = {
  namespace: 'n',
  name: 'p',
  reason: 'PodDisruptionBudget',
  message: 'retries: 10, needs 3',
  since: '2026-01-01T00:00:00Z',
};
const NODE: NodeStatus = {
  nodeRef: { name: 'a', uid: 'u' },
  drainTargets: [{ podType: 'Default', podPriority: 0 }],
  podsEvacuating: 2,
  expectedFinishTime: '2026-01-01T01:00:00Z',
  podsBlocking: [POD],
};
const SINCE = '2026-01-01T00:00:00Z';
const LEFT = { status: 'False', reason: 'Draining', message: '2 pods are left', lastTransitionTime: SINCE } as const;
const CONDITION = { type: 'Drained', ...LEFT };
const BEFORE: NodeMaintenanceStatus = { nodeStatuses: [NODE], conditions: [CONDITION] };
const withNode = (node: Partial<NodeStatus>): NodeMaintenanceStatus => ({ nodeStatuses: [{ ...NODE, ...node }] });
const withPod = (pod: Partial<BlockingPod>): NodeMaintenanceStatus => withNode({ podsBlocking: [{ ...POD, ...pod }] });

const TABLE: readonly (readonly [string, NodeMaintenanceStatus, StatusChange])[] = [
  ['another target', withNode({ drainTargets: [] }), 'significant'],
  ['another reason of a condition', { conditions: [{ ...CONDITION, reason: 'Drained' }] }, 'significant'],
  ['another count', withNode({ podsEvacuating: 1 }), 'progress'],
  ['a pod that blocks no more', withNode({ podsBlocking: [] }), 'progress'],
  ['another reason why a pod blocks', withPod({ reason: 'Interceptor' }), 'progress'],
  ['a pod that blocks since another time', withPod({ since: '2026-01-01T00:10:00Z' }), 'progress'],
  ['other words about a pod', withPod({ message: 'its webhook refuses' }), 'progress'],
  ['another number of retries', withPod({ message: 'retries: 11, needs 3' }), 'repetition'],
  ['another estimate', withNode({ expectedFinishTime: '2026-01-01T01:10:00Z' }), 'repetition'],
  ['another number in a condition', { conditions: [{ ...CONDITION, message: '3 pods are left' }] }, 'repetition'],
];

describe('what a new status of a maintenance says', () => {
  for (const [what, after, expected] of TABLE) {
    it(`${what} is: ${expected}`, () => assert.equal(statusChange(BEFORE, after), expected));
  }

  it('the first status is significant', () => assert.equal(statusChange(undefined, BEFORE), 'significant'));

  it('nodes that move into a group say nothing new', () => {
    const { nodeRef, ...rest } = NODE;
    const grouped = { nodeStatuses: [], nodeGroups: [{ nodes: [nodeRef], ...rest }] };
    assert.equal(statusChange(BEFORE, grouped), 'repetition');
  });
});
