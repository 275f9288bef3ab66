/** What any user may write into an object (int64 grace periods, any date-time) never stops a decision, nor leads to a status that is refused. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { EvictionRequest } from '../../src/api/eviction-request.ts';
import { DEADLINE_ANNOTATION, DEADLINE_SINCE_ANNOTATION } from '../../src/api/names.ts';
import type { NodeMaintenance } from '../../src/api/node-maintenance.ts';
import type { Pod } from '../../src/api/pod.ts';
import { whyBlocking } from '../../src/decide/drain/blocking-pods.ts';
import { estimateDrain } from '../../src/decide/drain/estimate.ts';
import { effectiveDrainPlan } from '../../src/decide/maintenance/drain-plan.ts';
import { decideEvictionRequest } from '../../src/decide/eviction/request.ts';
import { decideHeartbeat } from '../../src/decide/eviction/heartbeat.ts';
import { runtimePodsOf } from '../../src/decide/shutdown/runtime-pods.ts';
import { deadlineOf, dueTiersOf, interceptorsUntil, shortenedGraceSec } from '../../src/decide/deadline/maintenance.ts';
import { drainStatus } from '../../src/decide/drain/status.ts';
import { drainPodOf, endOf, MAX_GRACE_SEC } from '../../src/decide/pod.ts';
import { decideShorterEnd } from '../../src/decide/deadline/terminating-pod.ts';
import { preciseRfc3339, rfc3339, timeOf } from '../../src/decide/time.ts';

const NOW = Date.parse('2026-07-01T12:00:00Z');
const DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{3})?Z$/;

const INT64 = fc.oneof(
  fc.integer({ min: 0, max: 100 }),
  fc.constantFrom(1e13, 2.6e11, 2 ** 31, 2 ** 53, 2 ** 63, -(2 ** 63), -1, 0),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(Number),
);
const TIME = fc.oneof(
  fc.constantFrom(
    '9999-12-31T23:59:59-12:00',
    '9999-12-31T23:59:59Z',
    '0001-01-01T00:00:00+14:00',
    '0000-01-01T00:00:00Z',
    '2026-07-01T12:00:00Z',
    '1754-08-30T22:43:41Z',
    '+010265-01-01T00:00:00Z',
    'never',
  ),
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
);
const MAYBE_TIME = fc.option(TIME, { nil: undefined });

const POD: fc.Arbitrary<Pod> = fc
  .record({ uid: fc.uuid(), graceSec: INT64, deletedAt: MAYBE_TIME, deletionGrace: INT64, priority: fc.integer() })
  .map(({ uid, graceSec, deletedAt, deletionGrace, priority }) => ({
    metadata: {
      name: uid,
      namespace: 'default',
      uid,
      ...(deletedAt === undefined ? {} : { deletionTimestamp: deletedAt, deletionGracePeriodSeconds: deletionGrace }),
    },
    spec: { nodeName: 'n1', priority, terminationGracePeriodSeconds: graceSec },
  }));

const ENTRY = fc.record({ startTime: MAYBE_TIME, heartbeatTime: MAYBE_TIME, expectedFinishTime: MAYBE_TIME });
const REQUEST: fc.Arbitrary<EvictionRequest> = fc
  .record({ entry: ENTRY, activatedAt: TIME, createdAt: TIME })
  .map(
    ({ entry, activatedAt, createdAt }) =>
      ({
        metadata: { name: 'r', namespace: 'default', creationTimestamp: createdAt },
        spec: { target: { pod: { name: 'p', uid: 'r' } }, requesters: [{ name: 'x/y' }] },
        status: {
          targetInterceptors: [{ name: 'a/b' }, { name: 'c/d' }],
          activeInterceptors: ['a/b'],
          interceptors: [{ name: 'a/b', message: '', ...entry }],
          conditions: [
            { type: 'Progressing', status: 'True', reason: '', message: '', lastTransitionTime: activatedAt },
          ],
        },
      }) as unknown as EvictionRequest,
  );

const MAINTENANCE: fc.Arbitrary<NodeMaintenance> = fc
  .record({ at: MAYBE_TIME, since: MAYBE_TIME, createdAt: TIME, expectedAt: MAYBE_TIME })
  .map(({ at, since, createdAt, expectedAt }) => ({
    metadata: {
      name: 'm',
      creationTimestamp: createdAt,
      annotations: {
        ...(at === undefined ? {} : { [DEADLINE_ANNOTATION]: at }),
        ...(since === undefined ? {} : { [DEADLINE_SINCE_ANNOTATION]: since }),
      },
    },
    spec: { nodeSelector: { nodeSelectorTerms: [] }, stage: 'Drain' },
    status: {
      nodeStatuses: [
        { nodeRef: { name: 'n1' }, ...(expectedAt === undefined ? {} : { expectedFinishTime: expectedAt }) },
      ],
    },
  }));

/** Every time in a status is one that the API server takes, and every number is one. */
function assertWritable(value: unknown, place = 'status'): void {
  if (typeof value === 'number') assert.ok(Number.isFinite(value), `${place} is ${value}`);
  if (typeof value === 'string' && /(Time|Timestamp|since)$/.test(place)) {
    assert.match(value, DATE_TIME, place);
    assert.ok(!value.startsWith('0000'), `${place} is ${value}`);
  }
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) assertWritable(inner, `${place}.${key}`);
}

describe('hostile times and grace periods', () => {
  it('hostile times are written as times that the API server takes, whatever the number', () => {
    const numbers = fc.oneof(fc.double(), INT64, fc.constantFrom(Number.NaN, Infinity, -Infinity, 8.64e15, -8.64e15));
    fc.assert(
      fc.property(numbers, (ms) => {
        for (const text of [rfc3339(ms), preciseRfc3339(ms)]) {
          assert.match(text, DATE_TIME);
          assert.ok(!text.startsWith('0000'));
          assert.notEqual(timeOf(text), undefined);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('the status of a drain stays one that can be written', () => {
    fc.assert(
      fc.property(MAINTENANCE, fc.array(POD, { maxLength: 5 }), REQUEST, (maintenance, pods, request) => {
        const plan = effectiveDrainPlan([]);
        const [evicting, pending] = [pods.slice(0, 2), pods.slice(2)];
        const blocking = evicting.flatMap((pod) => whyBlocking(pod, request, undefined, NOW) ?? []);
        const expectedFinishAt = estimateDrain(
          plan,
          { evicting, pending, requestOf: () => request },
          { began: NOW, now: NOW },
        );
        const node = {
          name: 'n1',
          drainTargets: plan.slice(0, 1),
          position: 1,
          message: '',
          evicting: evicting.map(drainPodOf),
          staying: new Set<string>(),
          pending: pending.map(drainPodOf),
        };
        const status = drainStatus(
          maintenance,
          { position: 1, nodes: [node], drained: false },
          () => ({ evacuating: evicting.length, blocking, expectedFinishAt, overLimit: 0, ungatedDaemonSets: [] }),
          NOW,
        );
        const { expectedFinishTime, ...others } = status.nodeStatuses?.[0] ?? { nodeRef: { name: '' } };
        assertWritable({ ...status, nodeStatuses: [others] });
        // An old estimate is kept as it was written where it is near enough: the API server has taken it already.
        const kept = maintenance.status?.nodeStatuses?.[0]?.expectedFinishTime;
        if (expectedFinishTime !== kept) assertWritable({ expectedFinishTime });
      }),
      { numRuns: 1_000 },
    );
  });

  it('requests, heartbeats, deadlines and ends of pods stay sound', () => {
    fc.assert(
      fc.property(MAINTENANCE, POD, REQUEST, INT64, (maintenance, pod, request, budget) => {
        assertWritable(decideEvictionRequest(request, { ...pod, metadata: { ...pod.metadata, uid: 'r' } }, NOW).status);
        const entry = decideHeartbeat(request, 'a/b', { message: 'x', expectedFinishAt: NOW + budget }, NOW);
        if (entry !== undefined) assertWritable({ heartbeatTime: entry.heartbeatTime });
        assert.ok(Number.isFinite(dueTiersOf(maintenance, deadlineOf(maintenance), [pod], NOW).nextAt ?? 0));
        assert.ok(Number.isFinite(interceptorsUntil(pod, [pod], [maintenance]) ?? 0));
        const graceSec = shortenedGraceSec(pod, [pod], [maintenance], NOW) ?? 1;
        assert.ok(graceSec >= 1 && graceSec <= MAX_GRACE_SEC, `shortened to ${graceSec}`);
        const shorter = decideShorterEnd(pod, graceSec, NOW);
        assert.ok(shorter === undefined || (Number.isSafeInteger(shorter) && shorter >= 1), `told ${shorter}`);
      }),
      { numRuns: 2_000 },
    );
  });

  it('an interceptor never falls silent for a heartbeat of the time to come', () => {
    const status = { interceptors: [{ name: 'a/b', message: 'x', heartbeatTime: '2099-01-01T00:00:00Z' }] };
    const request = { metadata: { name: 'r' }, spec: { target: { pod: { name: 'p', uid: 'r' } } }, status };
    assert.equal(decideHeartbeat(request, 'a/b', { message: 'x' }, NOW)?.heartbeatTime, '2026-07-01T12:00:00Z');
  });

  it('hostile times from the container runtime are bounded', () => {
    const sandbox = { id: 's', namespace: 'd', podName: 'p', podUid: 'u', labels: {}, annotations: {}, graceSec: 1e13 };
    assert.equal(runtimePodsOf([sandbox], new Map())[0]?.graceSec, MAX_GRACE_SEC);
  });

  it('a pod whose grace period overflowed its deletionTimestamp is not overdue', () => {
    const told = Date.parse('2026-07-01T11:59:00Z');
    const overflowed = told + Number(BigInt.asIntN(64, 10n ** 13n * 1_000_000_000n) / 1_000_000n);
    const deletionTimestamp = rfc3339(overflowed);
    const metadata = { name: 'p', deletionTimestamp, deletionGracePeriodSeconds: 1e13 };
    const end = endOf({ metadata, spec: {} });
    assert.ok(
      Math.abs((end?.toldAt ?? 0) - told) <= 1_000,
      `${deletionTimestamp}, told at ${rfc3339(end?.toldAt ?? 0)}`,
    );
    assert.equal(end?.endsAt, (end?.toldAt ?? 0) + MAX_GRACE_SEC * 1000);
    assert.equal(decideShorterEnd({ metadata, spec: {} }, 10, NOW), 70);
  });

  it('the status names a pod that has long to end', () => {
    const metadata = { name: 'p', deletionTimestamp: '2026-07-08T11:00:00Z', deletionGracePeriodSeconds: 604_800 };
    const found = whyBlocking({ metadata, spec: {} }, undefined, undefined, NOW)?.message;
    assert.equal(found, 'it was given 604800 s to end, until 2026-07-08T11:00:00Z');
  });
});
