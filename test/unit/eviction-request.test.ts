import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest, EvictionRequestStatus } from '../../src/api/eviction-request.ts';
import type { Pod } from '../../src/api/pod.ts';
import { decideEvictionRequest } from '../../src/decide/eviction-request.ts';
import { decideHeartbeat } from '../../src/decide/heartbeat.ts';
import { decideEvictionOutcome } from '../../src/decide/imperative-eviction.ts';
import { interceptorsOf } from '../../src/decide/interceptor.ts';

const CREATED = '2026-01-01T00:00:00Z';
const NOW = Date.parse(CREATED) + 60_000;
const MINUTE = 60_000;

function pod(extra: Partial<Pod> = {}, annotations: Record<string, string> = {}): Pod {
  return {
    metadata: { name: 'p-1', namespace: 'default', uid: 'u-1', annotations },
    spec: { nodeName: 'n' },
    ...extra,
  };
}

function request(status?: EvictionRequestStatus, requesters = [{ name: 'nodemaintenance.k8s.io' }]): EvictionRequest {
  return {
    metadata: { name: 'u-1', namespace: 'default', uid: 'r-1', generation: 1, creationTimestamp: CREATED },
    spec: { target: { pod: { name: 'p-1', uid: 'u-1' } }, requesters },
    ...(status === undefined ? {} : { status }),
  };
}

const STARTED: EvictionRequestStatus = {
  observedGeneration: 1,
  targetInterceptors: [{ name: 'b.example.com' }, { name: 'imperative-eviction.k8s.io' }],
  activeInterceptors: ['b.example.com'],
  processedInterceptors: [],
  interceptors: [{ name: 'b.example.com' }, { name: 'imperative-eviction.k8s.io' }],
};

function condition(decision: ReturnType<typeof decideEvictionRequest>): string | undefined {
  const last = decision.status?.conditions?.at(-1);
  return last === undefined ? undefined : `${last.type} ${last.reason}: ${last.message}`;
}

describe('the eviction request controller', () => {
  const cases: [string, EvictionRequest, Pod | undefined, string | undefined][] = [
    [
      'cancels a request without a pod',
      request(),
      undefined,
      'Canceled ValidationFailed: Target Pod p-1 was not found.',
    ],
    [
      'cancels a request for another UID',
      request(),
      pod({ metadata: { name: 'p-1', uid: 'other' } }),
      'Canceled ValidationFailed: Target Pod p-1 was not found.',
    ],
    [
      'cancels a request for a pod of a workload',
      request(),
      pod({ spec: { workloadRef: {} } }),
      'Canceled ValidationFailed: Target Pod p-1 is part of a Workload/PodGroup. Eviction of such pods is currently not supported.',
    ],
    [
      'cancels a request that nobody makes',
      request(STARTED, []),
      pod(),
      'Canceled NoRequesters: Nobody requests the eviction of Pod p-1 any more.',
    ],
    ['sees that the pod is gone', request(STARTED), undefined, 'Evicted PodDeleted: Target Pod p-1 was deleted.'],
    [
      'sees that the pod has ended',
      request(STARTED),
      pod({ status: { phase: 'Failed' } }),
      'Evicted PodTerminal: Target Pod p-1 reached the phase Failed.',
    ],
    ['leaves a request alone that goes on', request(STARTED), pod(), undefined],
  ];
  for (const [name, given, target, expected] of cases) {
    it(name, () => {
      assert.equal(condition(decideEvictionRequest(given, target, NOW)), expected);
    });
  }

  it('asks the first interceptor first', () => {
    const { status } = decideEvictionRequest(request(), pod(), NOW);
    assert.deepEqual(status?.targetInterceptors, [{ name: 'imperative-eviction.k8s.io' }]);
    assert.deepEqual(status?.activeInterceptors, ['imperative-eviction.k8s.io']);
  });

  it('passes control on when the active interceptor completes', () => {
    const interceptors = [{ name: 'b.example.com', completionTime: CREATED }];
    const { status } = decideEvictionRequest(request({ ...STARTED, interceptors }), pod(), NOW);
    assert.deepEqual(status?.activeInterceptors, ['imperative-eviction.k8s.io']);
    assert.deepEqual(status?.processedInterceptors, ['b.example.com']);
  });

  it('passes control on 20 minutes after the last heartbeat, and says when that is', () => {
    const heartbeatTime = new Date(NOW).toISOString();
    const given = request({ ...STARTED, interceptors: [{ name: 'b.example.com', heartbeatTime }] });
    assert.equal(decideEvictionRequest(given, pod(), NOW + 19 * MINUTE).lookAgainMs, MINUTE);
    const { status } = decideEvictionRequest(given, pod(), NOW + 20 * MINUTE);
    assert.deepEqual(status?.activeInterceptors, ['imperative-eviction.k8s.io']);
  });

  it('counts from the creation where there never was a heartbeat', () => {
    assert.equal(decideEvictionRequest(request(STARTED), pod(), NOW + 18 * MINUTE).lookAgainMs, MINUTE);
  });

  it('keeps the last interceptor at work however long it takes', () => {
    const given = request({
      ...STARTED,
      activeInterceptors: ['imperative-eviction.k8s.io'],
      processedInterceptors: ['b.example.com'],
    });
    assert.equal(decideEvictionRequest(given, pod(), NOW + 100 * MINUTE).status, undefined);
  });

  it('never touches a request that is over', () => {
    const over = request({
      ...STARTED,
      conditions: [{ type: 'Evicted', status: 'True', reason: 'x', message: '', lastTransitionTime: CREATED }],
    });
    assert.deepEqual(decideEvictionRequest(over, undefined, NOW), {});
  });
});

describe('the interceptors of a pod', () => {
  const daemon = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd', controller: true };
  it('come from annotations by falling priority, the Eviction API last', () => {
    const annotations = {
      'interceptor.evictionrequest.coordination.k8s.io/priority_low.example.com': '10/controller',
      'evacuation.coordination.k8s.io/priority_high.example.com': '20000/controller',
      'interceptor.evictionrequest.coordination.k8s.io/priority_not a name': '5/x',
    };
    assert.deepEqual(interceptorsOf(pod({}, annotations)), [
      'high.example.com',
      'low.example.com',
      'imperative-eviction.k8s.io',
    ]);
  });
  it('include the kubelet for mirror pods and the DaemonSet controller for its pods', () => {
    assert.deepEqual(interceptorsOf(pod({}, { 'kubernetes.io/config.mirror': 'x' })), [
      'kubelet.k8s.io',
      'imperative-eviction.k8s.io',
    ]);
    const owned = pod({ metadata: { name: 'p-1', ownerReferences: [daemon] } });
    assert.deepEqual(interceptorsOf(owned), ['daemonset.apps.k8s.io', 'imperative-eviction.k8s.io']);
  });
  it('follow the field where the pod has it', () => {
    const spec = { evictionInterceptors: [{ name: 'b.example.com' }, { name: 'a.example.com' }] };
    assert.deepEqual(interceptorsOf(pod({ spec })), ['b.example.com', 'a.example.com', 'imperative-eviction.k8s.io']);
  });
  it('are never more than fifteen', () => {
    const names = Array.from({ length: 30 }, (_, index) => ({ name: `i${index}.example.com` }));
    assert.equal(interceptorsOf(pod({ spec: { evictionInterceptors: names } })).length, 15);
  });
});

describe('the Eviction API', () => {
  it('answers 2xx, 404, 409 and 429 with an outcome each', () => {
    assert.equal(decideEvictionOutcome({ status: 201, message: '' }, 1).kind, 'accepted');
    assert.equal(decideEvictionOutcome({ status: 404, message: '' }, 1).kind, 'gone');
    assert.equal(decideEvictionOutcome({ status: 409, message: '' }, 1).kind, 'gone');
    const blocked = decideEvictionOutcome(
      { status: 429, message: 'The disruption budget x needs 1.', retryAfterMs: 10_000 },
      1,
    );
    assert.deepEqual(blocked, {
      kind: 'blocked',
      retryAfterMs: 10_000,
      message:
        'Could not evict a pod due to failing eviction requests, number of retries: 1. The disruption budget x needs 1.',
    });
  });
  it('is asked again with growing pauses, at most 15 minutes', () => {
    const pauses = [1, 2, 3, 30].map((attempt) => decideEvictionOutcome({ status: 429, message: '' }, attempt));
    assert.deepEqual(
      pauses.map((outcome) => outcome.kind === 'blocked' && outcome.retryAfterMs),
      [2_000, 4_000, 8_000, 900_000],
    );
  });
});

describe('a heartbeat', () => {
  const progress = { message: 'p-1 is terminating' };
  it('sets the start time first, then keeps at least a minute', () => {
    const first = decideHeartbeat(request(STARTED), 'b.example.com', progress, NOW);
    assert.equal(first?.startTime, '2026-01-01T00:01:00Z');
    assert.ok(first);
    const given = request({ ...STARTED, interceptors: [first] });
    assert.equal(decideHeartbeat(given, 'b.example.com', progress, NOW + 30_000), undefined);
    const done = decideHeartbeat(given, 'b.example.com', { message: 'done', completed: true }, NOW + 30_000);
    assert.equal(done?.heartbeatTime, first.heartbeatTime);
    assert.equal(done?.completionTime, '2026-01-01T00:01:30Z');
    assert.equal(
      decideHeartbeat(given, 'b.example.com', progress, NOW + 180_000)?.heartbeatTime,
      '2026-01-01T00:04:00Z',
    );
  });
  it('leaves out an estimate that has passed', () => {
    const entry = decideHeartbeat(request(STARTED), 'b.example.com', { ...progress, expectedFinishAt: NOW - 1 }, NOW);
    assert.equal(entry?.expectedFinishTime, undefined);
  });
});
