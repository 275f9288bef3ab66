/** What any user may write into an object (int64 grace periods, any date-time); whole decisions over it: outside-data.test.ts. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { whyBlocking } from '../../src/decide/drain/blocking-pods.ts';
import { decideHeartbeat } from '../../src/decide/eviction/heartbeat.ts';
import { runtimePodsOf } from '../../src/decide/shutdown/running-pods.ts';
import { endOf, MAX_GRACE_SEC } from '../../src/decide/pod.ts';
import { decideShorterEnd } from '../../src/decide/deadline/shorter-grace.ts';
import { preciseRfc3339, rfc3339, timeOf } from '../../src/decide/time.ts';

const NOW = Date.parse('2026-07-01T12:00:00Z');
const DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{3})?Z$/;

const INT64 = fc.oneof(
  fc.integer({ min: 0, max: 100 }),
  fc.constantFrom(1e13, 2.6e11, 2 ** 31, 2 ** 53, 2 ** 63, -(2 ** 63), -1, 0),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(Number),
);

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
