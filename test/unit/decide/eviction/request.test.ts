import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest, EvictionRequestStatus } from '../../../../src/api/eviction-request.ts';
import { MAINTENANCE_UID_LABEL } from '../../../../src/api/names.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { decideEvictionRequest } from '../../../../src/decide/eviction/request.ts';
import { decideHeartbeat } from '../../../../src/decide/eviction/heartbeat.ts';

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

function deleted(status: EvictionRequestStatus): EvictionRequest {
  const given = request(status);
  return { ...given, metadata: { ...given.metadata, deletionTimestamp: CREATED, finalizers: ['x.example.com/hold'] } };
}

function condition(decision: ReturnType<typeof decideEvictionRequest>): string | undefined {
  const last = decision.status?.conditions?.find(({ type }) => type !== 'Progressing');
  return last === undefined ? undefined : `${last.type} ${last.reason}: ${last.message}`;
}

describe('the eviction request controller', () => {
  const NOT_FOUND = 'Canceled ValidationFailed: Target Pod p-1 was not found.';
  const GROUPED =
    'Canceled ValidationFailed: Target Pod p-1 is part of a Workload/PodGroup. Eviction of such pods is currently not supported.';
  const GONE = 'Evicted PodDeleted: Target Pod p-1 was deleted.';
  const cases: [string, EvictionRequest, Pod | undefined, string | undefined][] = [
    ['cancels a request without a pod', request(), undefined, NOT_FOUND],
    [
      'ends a request of a drain whose pod is gone before the first status',
      { ...request(), metadata: { ...request().metadata, labels: { [MAINTENANCE_UID_LABEL]: 'm-1' } } },
      undefined,
      GONE,
    ],
    ['cancels a request for another UID', request(), pod({ metadata: { name: 'p-1', uid: 'other' } }), NOT_FOUND],
    ['cancels a request for a pod of a workload', request(), pod({ spec: { workloadRef: {} } }), GROUPED],
    ['cancels a request for a pod of a scheduling group', request(), pod({ spec: { schedulingGroup: {} } }), GROUPED],
    [
      'cancels a request that nobody makes',
      request(STARTED, []),
      pod(),
      'Canceled NoRequesters: Nobody requests the eviction of Pod p-1 any more.',
    ],
    ['sees that the pod is gone', request(STARTED), undefined, GONE],
    [
      'sees that the pod has ended',
      request(STARTED),
      pod({ status: { phase: 'Failed' } }),
      'Evicted PodTerminal: Target Pod p-1 reached the phase Failed.',
    ],
    ['leaves a request alone that goes on', request(STARTED), pod(), undefined],
    [
      'cancels a request that is being deleted, so that nobody acts on it while finalizers hold it',
      deleted(STARTED),
      pod(),
      'Canceled Deleted: The EvictionRequest was deleted before Pod p-1 ended.',
    ],
    ['sees the end of the pod of a request that is being deleted', deleted(STARTED), undefined, GONE],
  ];
  for (const [name, given, target, expected] of cases) {
    it(name, () => {
      assert.equal(condition(decideEvictionRequest(given, target, NOW)), expected);
    });
  }

  it('the controller reports an evict policy that is none', () => {
    const reasons = (policy: string): readonly string[] => {
      const target = pod({}, { 'coordination.x-k8s.io/evict-policy': policy });
      return decideEvictionRequest(request(), target, NOW).events.map(({ reason }) => reason);
    };
    assert.deepEqual(reasons('controllerTakeOver'), ['EvictPolicyIgnored']);
    assert.deepEqual([reasons('Default'), reasons('ControllerTakeOver')], [[], []]);
  });

  it('the controller passes control on 20 minutes after the last heartbeat, and says when that is', () => {
    const heartbeatTime = new Date(NOW).toISOString();
    const given = request({ ...STARTED, interceptors: [{ name: 'b.example.com', heartbeatTime }] });
    assert.equal(decideEvictionRequest(given, pod(), NOW + 19 * MINUTE).againMs, MINUTE);
    const { status } = decideEvictionRequest(given, pod(), NOW + 20 * MINUTE);
    assert.deepEqual(status?.activeInterceptors, ['imperative-eviction.k8s.io']);
  });

  const activated = (at: number): EvictionRequestStatus => ({
    ...STARTED,
    conditions: [
      {
        type: 'Progressing',
        status: 'True',
        reason: 'InterceptorActive',
        message: '',
        lastTransitionTime: new Date(at).toISOString(),
      },
    ],
  });

  it('the controller counts from the activation where that is known, however old the request is', () => {
    const given = request(activated(NOW + 60 * MINUTE));
    assert.equal(decideEvictionRequest(given, pod(), NOW + 79 * MINUTE).againMs, MINUTE);
    const { status, events } = decideEvictionRequest(given, pod(), NOW + 80 * MINUTE);
    assert.deepEqual(status?.activeInterceptors, ['imperative-eviction.k8s.io']);
    assert.equal(status?.conditions?.[0]?.lastTransitionTime, '2026-01-01T01:21:00Z');
    assert.equal(events[0]?.reason, 'HeartbeatTimeout');
  });

  it('the controller does not believe a heartbeat or a completion from the future', () => {
    const future = new Date(NOW + 30 * MINUTE).toISOString();
    const hostile = { name: 'b.example.com', startTime: future, heartbeatTime: future, completionTime: future };
    const given = request({ ...activated(NOW), interceptors: [hostile] });
    assert.equal(decideEvictionRequest(given, pod(), NOW + MINUTE).againMs, 19 * MINUTE);
    const { status } = decideEvictionRequest(given, pod(), NOW + 20 * MINUTE);
    assert.deepEqual(status?.activeInterceptors, ['imperative-eviction.k8s.io']);
  });

  it('the controller says so when the last interceptor withdraws and the pod is still there', () => {
    const name = 'imperative-eviction.k8s.io';
    const given = request({
      ...activated(NOW),
      activeInterceptors: [name],
      processedInterceptors: ['b.example.com'],
      interceptors: [{ name, completionTime: CREATED }],
    });
    const { status } = decideEvictionRequest(given, pod(), NOW);
    assert.deepEqual(status?.activeInterceptors, []);
    assert.deepEqual(status?.processedInterceptors, ['b.example.com', name]);
    assert.equal(status?.conditions?.[0]?.reason, 'NoFurtherInterceptor');
  });

  it('the controller keeps the conditions that an interceptor has set', () => {
    const own = { type: 'Migrated', status: 'False', reason: 'x', message: '', lastTransitionTime: CREATED } as const;
    const { status } = decideEvictionRequest(request({ ...STARTED, conditions: [own] }), undefined, NOW);
    const types = status?.conditions?.map(({ type }) => type);
    assert.deepEqual(types, ['Migrated', 'Progressing', 'Evicted']);
  });

  it('the controller notes a new generation alone where nothing else changes', () => {
    const given = { ...request(activated(NOW)), metadata: { ...request().metadata, generation: 2 } };
    assert.deepEqual(decideEvictionRequest(given, pod(), NOW).status, { observedGeneration: 2 });
  });

  it('the controller keeps the last interceptor at work however long it takes', () => {
    const given = request({
      ...STARTED,
      activeInterceptors: ['imperative-eviction.k8s.io'],
      processedInterceptors: ['b.example.com'],
    });
    assert.equal(decideEvictionRequest(given, pod(), NOW + 100 * MINUTE).status, undefined);
  });
});

describe('a heartbeat', () => {
  const progress = { message: 'p-1 is terminating' };
  it('a heartbeat sets the start time first, then keeps at least a minute', () => {
    const first = decideHeartbeat(request(STARTED), 'b.example.com', progress, NOW);
    assert.equal(first?.startTime, '2026-01-01T00:01:00Z');
    assert.ok(first);
    const given = request({ ...STARTED, interceptors: [first] });
    assert.equal(decideHeartbeat(given, 'b.example.com', progress, NOW + 30_000), undefined);
    const done = decideHeartbeat(given, 'b.example.com', { message: 'done', completed: true }, NOW + 30_000);
    assert.equal(done?.heartbeatTime, first.heartbeatTime);
    assert.equal(done?.completionTime, '2026-01-01T00:01:30Z');
    const found = decideHeartbeat(given, 'b.example.com', progress, NOW + 180_000)?.heartbeatTime;
    assert.equal(found, '2026-01-01T00:04:00Z');
  });
  it('a heartbeat leaves out an estimate that has passed', () => {
    const entry = decideHeartbeat(request(STARTED), 'b.example.com', { ...progress, expectedFinishAt: NOW - 1 }, NOW);
    assert.equal(entry?.expectedFinishTime, undefined);
  });
});
