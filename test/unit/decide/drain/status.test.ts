import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import {
  completedStatus,
  cordonStatus,
  drainStatus,
  waitingStatus,
  withWaiting,
} from '../../../../src/decide/drain/status.ts';

const NOW = Date.parse('2026-01-01T01:00:00Z');

describe('the status of a drain', () => {
  const maintenance: NodeMaintenance = { metadata: { name: 'm' }, spec: { nodeSelector: { nodeSelectorTerms: [] } } };
  const left = { namespace: 'n', name: 'p', uid: 'u', podType: 'Default' as const, priority: 0, labels: {} };
  const resolve = (pods: number): Parameters<typeof drainStatus>[1] => {
    const evicting = Array.from({ length: pods }, () => left);
    const node = { name: 'one', drainTargets: [], position: 1, staying: new Set<string>(), pending: [] };
    return { position: 1, drained: pods === 0, nodes: [{ ...node, evicting, message: 'Evacuating' }] };
  };
  const seen = { evacuating: 0, blocking: [], overLimit: 0, ungatedDaemonSets: [] };
  it('the status has the progress in percent of the pods there were at the start', () => {
    const first = drainStatus(maintenance, resolve(4), () => seen, NOW);
    assert.equal(first.nodeStatuses?.[0]?.progressPercent, 0);
    const second = drainStatus({ ...maintenance, status: first }, resolve(1), () => seen, NOW);
    assert.equal(second.nodeStatuses?.[0]?.progressPercent, 75);
    const last = drainStatus({ ...maintenance, status: second }, resolve(0), () => seen, NOW);
    assert.equal(last.nodeStatuses?.[0]?.progressPercent, 100);
  });
  it('the status counts a targeted pod as evacuating once its eviction is requested, and as pending before', () => {
    const status = drainStatus(maintenance, resolve(4), () => ({ ...seen, evacuating: 1 }), NOW);
    assert.deepEqual(status.summary, { nodes: 'one', podsPendingEvacuation: 3, podsEvacuating: 1 });
    assert.equal(status.nodeStatuses?.[0]?.podsEvacuating, 1);
    assert.equal(status.nodeStatuses[0].podsPendingEvacuation, 3);
  });
  it('the status stays Drained when the nodes that were drained are deleted', () => {
    const none = { position: 0, drained: true, nodes: [] };
    const conditionOf = (status: NodeMaintenance['status'], to: Parameters<typeof drainStatus>[1]): string => {
      const known = status === undefined ? maintenance : { ...maintenance, status };
      const [drained] = drainStatus(known, to, () => seen, NOW).conditions ?? [];
      return `${drained?.status} ${drained?.reason}`;
    };
    const drained = drainStatus(maintenance, resolve(0), () => seen, NOW);
    assert.equal(conditionOf(drained, none), 'True DrainCompleted');
    assert.equal(conditionOf(drained, resolve(1)), 'False Draining', 'another node');
    assert.equal(conditionOf(undefined, none), 'False NoNodes');
    const begun = drainStatus(maintenance, resolve(1), () => seen, NOW);
    assert.equal(conditionOf(begun, none), 'False NoNodes');
  });
  it('the status of a throttled drain counts its pods, and keeps what other drains have reached', () => {
    const drainTargets = [{ podType: 'Default' as const, podPriority: 5 }];
    const nodes = [
      { name: 'one', uid: 'u1', message: 'Waiting', drainTargets, pods: 100, evacuating: 2 },
      { name: 'two', message: 'Waiting', drainTargets: [], pods: 3, evacuating: 0 },
    ];
    const status = waitingStatus(maintenance, nodes, { reason: 'Waiting', message: 'Waiting' }, NOW);
    assert.deepEqual(status.summary, { nodes: 'one, two', podsPendingEvacuation: 101, podsEvacuating: 2 });
    assert.deepEqual(status.nodeStatuses?.[0]?.drainTargets, drainTargets);
    assert.equal(status.nodeStatuses[1]?.drainTargets, undefined);
    assert.equal(status.drainPlanPosition, undefined, 'it has not begun');
  });
  it('the status of a drain that goes on without some of its nodes has these too, and is not Drained', () => {
    const waiting = [{ name: 'two', message: 'Throttled', drainTargets: [], pods: 3, evacuating: 0 }];
    const shown = (pods: number): readonly (string | undefined)[] => {
      const status = drainStatus(maintenance, resolve(pods), () => seen, NOW);
      const all = withWaiting(maintenance, status, waiting, NOW);
      const [condition] = all.conditions ?? [];
      return [all.summary?.nodes, condition?.status, condition?.reason, all.nodeStatuses?.[1]?.drainMessage];
    };
    assert.deepEqual(shown(2), ['one, two', 'False', 'Draining', 'Throttled']);
    assert.deepEqual(shown(0), ['one, two', 'False', 'Waiting', 'Throttled']);
  });
  it('the status of a complete maintenance counts no pods and names none that block', () => {
    const blocking = [{ namespace: 'n', name: 'p', reason: 'NotEnding', message: '', since: '' }] as const;
    const before = drainStatus(maintenance, resolve(4), () => ({ ...seen, blocking, evacuating: 4 }), NOW);
    const status = completedStatus({ ...maintenance, status: before }, NOW);
    assert.deepEqual(status.summary, { nodes: 'one', podsPendingEvacuation: 0, podsEvacuating: 0 });
    const [node] = status.nodeStatuses ?? [];
    assert.equal(node?.podsAtStart, 4);
    assert.equal(node.podsBlocking, undefined);
    assert.deepEqual(Object.keys(completedStatus(maintenance, NOW)), ['stageStatuses']);
  });
  it('the status of a maintenance in Cordon has its nodes', () => {
    const status = cordonStatus(maintenance, [{ name: 'one', uid: 'u1' }], NOW);
    assert.deepEqual(status.nodeStatuses, [{ nodeRef: { name: 'one', uid: 'u1' } }]);
    assert.deepEqual(status.summary, { nodes: 'one' });
  });
  it('the status does not move an estimate by a few seconds, which would be a write each look', () => {
    const at = (ms: number): typeof seen & { expectedFinishAt: number } => ({ ...seen, expectedFinishAt: NOW + ms });
    const first = drainStatus(maintenance, resolve(4), () => at(60_000), NOW);
    const second = drainStatus({ ...maintenance, status: first }, resolve(4), () => at(65_000), NOW);
    assert.equal(second.nodeStatuses?.[0]?.expectedFinishTime, first.nodeStatuses?.[0]?.expectedFinishTime);
    const third = drainStatus({ ...maintenance, status: second }, resolve(4), () => at(90_000), NOW);
    assert.equal(third.nodeStatuses?.[0]?.expectedFinishTime, '2026-01-01T01:01:30Z');
  });
});
