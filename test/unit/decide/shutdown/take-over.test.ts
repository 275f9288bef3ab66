import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest } from '../../../../src/api/eviction-request.ts';
import type { BlockingPod, DrainPlanEntry, NodeMaintenance, NodeStatus } from '../../../../src/api/node-maintenance.ts';
import {
  longestSilenceMs,
  patienceMs,
  type Stall,
  type Stand,
  standOf,
  traceText,
} from '../../../../src/decide/shutdown/take-over.ts';
import { maintenanceOf } from '../../../support/maintenance/objects.ts';

const NOW = Date.UTC(2026, 0, 1);
const MAX = 300_000;
const REQUEST: EvictionRequest = {
  metadata: { name: 'uid-web', uid: 'r', namespace: 'default' },
  spec: { target: { pod: { name: 'web', uid: 'uid-web' } } },
};
const BLOCKING = { namespace: 'default', name: 'web', reason: 'PodDisruptionBudget', message: '', since: '' } as const;
const VOLUMES = { names: ['v'], since: '' };

const statusOf = (fields: Partial<NodeStatus>): NodeStatus => ({
  nodeRef: { name: 'n1' },
  drainPlanPosition: 1,
  drainMessage: 'Evacuating',
  podsPendingEvacuation: 2,
  podsEvacuating: 0,
  ...fields,
});

const silences: [string, NodeStatus | undefined, readonly EvictionRequest[], Stand, number][] = [
  ['that has written nothing', undefined, [], 'asks', MAX],
  ['that has written nothing and whose requests are there', undefined, [REQUEST], 'asks', MAX],
  ['that asks for no pod', statusOf({}), [], 'asks', MAX],
  ['that says that pods leave, of which no request is left', statusOf({ podsEvacuating: 1 }), [], 'asks', MAX],
  ['that has only listed the node', { nodeRef: { name: 'n1' } }, [], 'asks', MAX],
  ['that asks for pods', statusOf({}), [REQUEST], 'asks', 6 * MAX],
  ['that says what blocks', statusOf({ podsBlocking: [BLOCKING] }), [], 'asks', 6 * MAX],
  ['that waits for a volume', statusOf({ volumesInUse: VOLUMES }), [], 'ends', 6 * MAX],
  ['that gives others their turn first', { nodeRef: { name: 'n1' } }, [], 'waits', 6 * MAX],
  ['that guards the control plane', { nodeRef: { name: 'n1' } }, [], 'guarded', Infinity],
  ['whose pods end a year from now', statusOf({ expectedFinishTime: '2027-01-01T01:00:00Z' }), [], 'asks', 6 * MAX],
  [
    'whose pods have time to end, and of which one blocks',
    statusOf({ expectedFinishTime: '2026-01-01T01:00:00Z', podsBlocking: [BLOCKING] }),
    [],
    'asks',
    6 * MAX,
  ],
  ['whose pods have had it', statusOf({ expectedFinishTime: '2025-12-31T23:00:00Z' }), [REQUEST], 'asks', 6 * MAX],
];

describe('the longest silence of a controller', () => {
  for (const [title, node, requests, stand, expected] of silences) {
    it(`the longest silence of a controller ${title} is ${expected / 1000} s`, () => {
      assert.equal(longestSilenceMs({ node, requests }, stand, MAX, NOW), expected);
    });
  }
});

describe('the trace of a controller', () => {
  const withStatus = (name: string, message: string, heartbeatTime?: string): EvictionRequest => ({
    ...REQUEST,
    status: { interceptors: [{ name, message, ...(heartbeatTime === undefined ? {} : { heartbeatTime }) }] },
  });
  const rows: [string, readonly EvictionRequest[], boolean][] = [
    ['a request that is made', [REQUEST], true],
    ['what an interceptor reports', [withStatus('saver.example.com', 'saves')], true],
    ['what the agent reports itself', [withStatus('kubelet.k8s.io', 'ends')], false],
  ];
  for (const [title, requests, isOther] of rows) {
    it(`the trace of a controller ${isOther ? 'has' : 'does not have'} ${title}`, () => {
      const node = statusOf({});
      const before = isOther ? [] : [withStatus('kubelet.k8s.io', '')];
      assert.equal(traceText({ node, requests }) !== traceText({ node, requests: before }), isOther);
    });
  }

  it('a webhook that cannot be called once more is nothing new in the trace of a controller', () => {
    const traceOf = (message: string, beat: string): string => {
      const requests = [withStatus('imperative-eviction.k8s.io', message, beat)];
      return traceText({ node: statusOf({}), requests });
    };
    const failed = 'Nobody could be asked: HTTP 500: failed calling webhook';
    assert.equal(traceOf(failed, '2026-01-01T00:00:00Z'), traceOf(failed, '2026-01-01T00:03:00Z'));
    assert.notEqual(traceOf('saves', '2026-01-01T00:00:00Z'), traceOf('saves', '2026-01-01T00:03:00Z'));
    const ends = 'Pod web is terminating.';
    assert.equal(traceOf(ends, '2026-01-01T00:00:00Z'), traceOf(ends, '2026-01-01T00:03:00Z'), 'its time is over');
  });

  it('another try that a budget refuses is nothing new where the status does not have it', () => {
    const refused = (retries: number): string =>
      `Could not evict a pod due to failing eviction requests, number of retries: ${retries}. Blocked by b.`;
    const traceOf = (retries: number, podsBlocking: readonly BlockingPod[]): string => {
      const requests = [withStatus('imperative-eviction.k8s.io', refused(retries))];
      return traceText({ node: statusOf({ podsBlocking }), requests });
    };
    const recorded = (retries: number) => [{ ...BLOCKING, message: refused(retries) }];
    for (const stale of [[], [{ ...BLOCKING, name: 'another' }], recorded(1)])
      assert.equal(traceOf(2, stale), traceOf(3, stale), 'the statuses may be refused');
    assert.notEqual(traceOf(2, recorded(2)), traceOf(3, recorded(2)));
  });

  it('the trace of a controller has what the status says of the node', () => {
    const text = (podsPendingEvacuation: number) =>
      traceText({ node: statusOf({ podsPendingEvacuation }), requests: [] });
    assert.notEqual(text(2), text(1));
  });
});

describe('the stand of a drain', () => {
  const at = (
    podTypes: readonly DrainPlanEntry['podType'][],
    reason?: string,
    begin: Partial<NodeStatus> = { drainStartTime: '2026-01-01T00:00:00Z' },
  ): NodeMaintenance => {
    const drainTargets = podTypes.map((podType) => ({ podType, podPriority: 0 }));
    const drained = { type: 'Drained', status: 'False', message: '', lastTransitionTime: '' } as const;
    const conditions = reason === undefined ? [] : [{ ...drained, reason }];
    const maintenance = maintenanceOf({ stage: 'Drain' }, { name: 'm' });
    const node: NodeStatus = { nodeRef: { name: 'n1' }, drainTargets, ...begin };
    return { ...maintenance, status: { nodeStatuses: [node], conditions } };
  };
  const stands: [string, NodeMaintenance | undefined, Stand][] = [
    ['of which nothing is known', undefined, 'asks'],
    ['that nobody has begun', at([]), 'asks'],
    ['that waits for its turn', at([], 'WaitingForTurn'), 'waits'],
    ['that waits for other maintenances', at([], 'Waiting'), 'waits'],
    ['that waits, with the targets of another drain of the node', at(['DaemonSet'], 'WaitingForTurn', {}), 'waits'],
    ['that waits for the control plane', at([], 'WaitingForControlPlane'), 'guarded'],
    ['whose static pods stay for the control plane', at(['Default', 'DaemonSet'], 'WaitingForControlPlane'), 'guarded'],
    ['whose Default pods leave', at(['Default'], 'Draining'), 'asks'],
    ['that has begun, whatever its condition says', at(['Default'], 'WaitingForTurn'), 'asks'],
    ['whose DaemonSet pods leave', at(['Default', 'DaemonSet']), 'ends'],
    ['whose static pods leave', at(['Default', 'DaemonSet', 'Static']), 'ends'],
  ];
  for (const [title, maintenance, expected] of stands) {
    it(`the stand of a drain ${title} is "${expected}"`, () => {
      assert.equal(standOf(maintenance, 'n1'), expected);
    });
  }
});

describe('the patience with an API server', () => {
  const SILENT: Omit<Stall, 'forMs'> = { refusal: undefined };
  const REFUSES: Omit<Stall, 'forMs'> = { refusal: 'a webhook cannot be called' };
  const rows: [string, Stand, Omit<Stall, 'forMs'>, number | undefined, number][] = [
    ['that is silent while pods leave', 'asks', SILENT, undefined, MAX],
    ['that refuses while pods leave', 'asks', REFUSES, undefined, MAX],
    ['that is silent when nobody is asked any more', 'ends', SILENT, undefined, 15_000],
    ['that refuses when nobody is asked any more', 'ends', REFUSES, undefined, MAX],
    ['that is silent before the turn', 'waits', SILENT, undefined, 12 * MAX],
    ['that refuses the cordon after the turn', 'waits', { ...REFUSES, isBegun: true }, undefined, MAX],
    ['that is silent while the control plane is guarded', 'guarded', SILENT, undefined, Infinity],
    ['that is silent while it is guarded, ten minutes before the end', 'guarded', SILENT, 600_000, 60_000],
    ['that is silent two minutes before the end', 'asks', SILENT, 120_000, 15_000],
    ['that is silent ten minutes before the end', 'asks', SILENT, 600_000, 60_000],
    ['that refuses an hour before the end', 'asks', REFUSES, 3_600_000, MAX],
    ['that is silent after the end', 'waits', SILENT, -1, 15_000],
  ];
  for (const [title, stand, stall, leftMs, expected] of rows) {
    it(`the patience with an API server ${title} is ${expected / 1000} s`, () => {
      const deadline = leftMs === undefined ? {} : { deadline: { at: NOW + leftMs, since: NOW } };
      const limits = { stand, now: NOW, apiWaitMs: 15_000, progressWaitMs: MAX };
      assert.equal(patienceMs(deadline, stall, limits), expected);
    });
  }

  it('an estimate that moves on and another number of tries are no progress', () => {
    const at = (expectedFinishTime: string, message: string): string =>
      traceText({ node: statusOf({ expectedFinishTime, podsBlocking: [{ ...BLOCKING, message }] }), requests: [] });
    assert.equal(at('2026-01-01T01:00:00Z', 'try 1'), at('2026-01-01T02:00:00Z', 'try 2'));
  });
});
