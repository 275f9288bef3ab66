import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest } from '../../../../src/api/eviction-request.ts';
import type { NodeStatus } from '../../../../src/api/node-maintenance.ts';
import {
  BY_AGENT,
  chooseDrainer,
  type ControllerLife,
  type DrainerKind,
  isOffline,
  longestSilenceMs,
  MISSING_CONTROLLER,
  traceText,
} from '../../../../src/decide/shutdown/drainer.ts';
import type { Phase } from '../../../../src/decide/shutdown/phase.ts';

const SHUTDOWN = { maintenance: 'm', origin: 'logind', reason: 'r', since: 1, bootId: 'b' } as const;
const WATCHING: Phase = { kind: 'watching' };
const CLUSTER: Phase = { kind: 'draining', mode: 'cluster', ...SHUTDOWN };
const OFFLINE: Phase = { kind: 'draining', mode: 'offline', ...SHUTDOWN };
const RELEASED: Phase = { kind: 'released', mode: 'offline', releasedAt: 2, ...SHUTDOWN };
const RECOVERING: Phase = { kind: 'recovering', mode: 'offline', cause: 'boot', ...SHUTDOWN };

const rows: [string, Phase, ControllerLife, DrainerKind][] = [
  ['a node that no shutdown drains and whose controller is alive', WATCHING, 'alive', 'controller'],
  ['a node that another maintenance drains without a controller', WATCHING, 'dead', 'self'],
  ['a shutdown with a controller', CLUSTER, 'alive', 'controller'],
  ['a shutdown whose controller is not known to be dead yet', CLUSTER, 'unknown', 'controller'],
  ['a shutdown without a controller', CLUSTER, 'dead', 'self'],
  ['a shutdown whose controller does nothing for it', CLUSTER, 'idle', 'self'],
  ['a shutdown without an API server', OFFLINE, 'unknown', 'offline'],
  ['a shutdown without an API server, whatever the Lease showed', OFFLINE, 'alive', 'offline'],
  ['a shutdown without an API server after its controller died', OFFLINE, 'dead', 'offline'],
  ['a released machine, whose offline drain is over', RELEASED, 'dead', 'self'],
  ['a machine that was booted after an offline drain', RECOVERING, 'dead', 'self'],
  ['a machine that was booted after an offline drain and has a controller', RECOVERING, 'alive', 'controller'],
];

describe('chooseDrainer', () => {
  for (const [title, phase, controller, expected] of rows) {
    it(`chooseDrainer gives ${title} to ${expected}`, () => {
      assert.equal(chooseDrainer(phase, controller), expected);
    });
  }
});

describe('isOffline', () => {
  it('isOffline holds for a shutdown that is drained without an API server, and for no other phase', () => {
    const phases = [WATCHING, CLUSTER, OFFLINE, RELEASED, RECOVERING];
    assert.deepEqual(phases.filter(isOffline), [OFFLINE]);
  });
});

const NOW = Date.UTC(2026, 0, 1);
const MAX = 300_000;
const REQUEST: EvictionRequest = {
  metadata: { name: 'uid-web', uid: 'r' },
  spec: { target: { pod: { name: 'web', uid: 'uid-web' } } },
};
const BLOCKING = { namespace: 'default', name: 'web', reason: 'PodDisruptionBudget', message: '', since: '' } as const;
const VOLUME = { name: 'v', driver: 'd', waitsFor: 'Detach', since: '' } as const;

const statusOf = (fields: Partial<NodeStatus>): NodeStatus => ({
  nodeRef: { name: 'n1' },
  drainPlanPosition: 1,
  drainMessage: 'Evacuating',
  podsPendingEvacuation: 2,
  podsEvacuating: 0,
  ...fields,
});

const silences: [string, NodeStatus | undefined, readonly EvictionRequest[], number][] = [
  ['that has written nothing', undefined, [], MAX],
  ['that has written nothing and whose requests are there', undefined, [REQUEST], MAX],
  ['that says that it evacuates and asks for no pod', statusOf({}), [], MAX],
  [
    'that says that others limit it and asks for no pod',
    statusOf({ drainMessage: 'Evacuating (limited by m)' }),
    [],
    MAX,
  ],
  ['that says that the node is drained', statusOf({ drainMessage: 'Drained' }), [], MAX],
  ['that has left what the agent wrote', statusOf({ drainMessage: `Evacuating (${BY_AGENT}: x)` }), [REQUEST], MAX],
  [
    'that has left for whom the agent waited',
    { nodeRef: { name: 'n1' }, drainMessage: `Waiting, because of ${MISSING_CONTROLLER}, without which` },
    [],
    MAX,
  ],
  ['that has only listed the node', { nodeRef: { name: 'n1' } }, [], MAX],
  ['that asks for pods', statusOf({}), [REQUEST], 6 * MAX],
  ['that says that pods leave', statusOf({ podsEvacuating: 1 }), [], 6 * MAX],
  ['that says what blocks', statusOf({ podsBlocking: [BLOCKING] }), [], 6 * MAX],
  ['that waits for a volume', statusOf({ volumesLeft: [VOLUME] }), [], 6 * MAX],
  ['whose pods wait for others', statusOf({ drainMessage: 'Evacuating; 2 of them wait for others' }), [], 6 * MAX],
  ['that waits for a node', statusOf({ drainMessage: 'Waiting for node n2.' }), [], 6 * MAX],
  ['that gives others their turn first', { nodeRef: { name: 'n1' }, drainMessage: 'Waiting for n2' }, [], Infinity],
  [
    'whose pods have time to end',
    statusOf({ podsEvacuating: 1, expectedFinishTime: '2026-01-01T01:00:00Z' }),
    [],
    Infinity,
  ],
  ['whose pods have had it', statusOf({ podsEvacuating: 1, expectedFinishTime: '2025-12-31T23:00:00Z' }), [], 6 * MAX],
];

describe('the longest silence of a controller', () => {
  for (const [title, node, requests, expected] of silences) {
    it(`the longest silence of a controller ${title} is ${expected / 1000} s`, () => {
      assert.equal(longestSilenceMs({ node, requests }, MAX, NOW), expected);
    });
  }
});

describe('the trace of a controller', () => {
  const withStatus = (name: string, message: string): EvictionRequest => ({
    ...REQUEST,
    status: { interceptors: [{ name, message }] },
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

  it('the trace of a controller has what the status says of the node', () => {
    const text = (podsPendingEvacuation: number) =>
      traceText({ node: statusOf({ podsPendingEvacuation }), requests: [] });
    assert.notEqual(text(2), text(1));
  });
});
