import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { EvictionRequest, EvictionRequestStatus } from '../../src/api/eviction-request.ts';
import type { Pod } from '../../src/api/pod.ts';
import { decideEvictionRequest, isFinished } from '../../src/decide/eviction/request.ts';
import { decideHeartbeat } from '../../src/decide/eviction/heartbeat.ts';

const START = Date.parse('2026-01-01T00:00:00Z');
const MINUTE = 60_000;
const NAMES = ['c.example.com', 'b.example.com', 'a.example.com'];

type Event =
  | { readonly kind: 'wait'; readonly minutes: number }
  | { readonly kind: 'heartbeat' | 'complete' | 'withdraw' | 'ask' | 'delete' | 'restart' };

const events: fc.Arbitrary<Event> = fc.oneof(
  fc.record({ kind: fc.constant('wait' as const), minutes: fc.integer({ min: 1, max: 25 }) }),
  fc.record({ kind: fc.constantFrom('heartbeat' as const, 'complete' as const, 'ask' as const, 'restart' as const) }),
  fc.record({ kind: fc.constantFrom('heartbeat' as const, 'withdraw' as const, 'delete' as const) }),
);

function merge(request: EvictionRequest, status: EvictionRequestStatus | undefined): EvictionRequest {
  return status === undefined ? request : { ...request, status: { ...request.status, ...status } };
}

/** What an API server with the CRD's rules would refuse. */
function assertAllowed(old: EvictionRequestStatus | undefined, fresh: EvictionRequestStatus | undefined): void {
  const targets = (fresh?.targetInterceptors ?? []).map(({ name }) => name);
  const active = fresh?.activeInterceptors ?? [];
  const before = old?.activeInterceptors ?? [];
  assert.ok(active.length <= 1);
  if (old?.targetInterceptors !== undefined) assert.deepEqual(fresh?.targetInterceptors, old.targetInterceptors);
  if (active[0] !== undefined && active[0] !== before[0]) {
    assert.equal(targets.indexOf(active[0]), before[0] === undefined ? 0 : targets.indexOf(before[0]) + 1);
  }
  const processed = fresh?.processedInterceptors ?? [];
  const known = old?.processedInterceptors ?? [];
  assert.deepEqual(processed.slice(0, known.length), known);
  assert.ok(processed.slice(known.length).every((name) => before.includes(name)));
  // No interceptor is left out or asked twice: those that had their turn are the first of the list.
  assert.deepEqual(processed, targets.slice(0, processed.length));
  for (const type of ['Evicted', 'Canceled']) {
    const was = old?.conditions?.find((condition) => condition.type === type);
    const is = fresh?.conditions?.find((condition) => condition.type === type);
    if (was !== undefined) assert.deepEqual(is, was);
  }
}

describe('an EvictionRequest, whatever happens to it', () => {
  it('the request asks each interceptor once, in order, gives each its 20 minutes, and ends for good', () => {
    fc.assert(
      fc.property(fc.array(events, { maxLength: 40, size: 'max' }), (happenings) => {
        let now = START;
        let pod: Pod | undefined = {
          metadata: { name: 'p', namespace: 'n', uid: 'u' },
          spec: { evictionInterceptors: NAMES.map((name) => ({ name })) },
        };
        let request: EvictionRequest = {
          metadata: { name: 'u', namespace: 'n', uid: 'r', generation: 1, creationTimestamp: '2026-01-01T00:00:00Z' },
          spec: { target: { pod: { name: 'p', uid: 'u' } }, requesters: [{ name: 'r.example.com' }] },
        };
        let activatedAt = now;
        let heardAt = now;
        const control = (): void => {
          const old = request.status;
          const { status, againMs } = decideEvictionRequest(request, pod, now);
          const next = merge(request, status);
          assertAllowed(old, next.status);
          const [was] = old?.activeInterceptors ?? [];
          const [is] = next.status?.activeInterceptors ?? [];
          const completed = old?.interceptors?.find(({ name }) => name === was)?.completionTime !== undefined;
          if (was !== undefined && is !== undefined && was !== is && !completed) {
            // Times are kept in whole seconds, rounded down.
            assert.ok(now - Math.max(activatedAt, heardAt) > 20 * MINUTE - 1_000, `${was} had less than its time`);
          }
          if (was !== is) activatedAt = now;
          if (isFinished(next)) assert.deepEqual(next.status?.activeInterceptors, []);
          assert.ok(againMs === undefined || (againMs > 0 && againMs <= 20 * MINUTE));
          request = next;
          // Once more without a change: nothing is written.
          assert.equal(decideEvictionRequest(request, pod, now).status, undefined);
        };
        control();
        for (const event of happenings) {
          if (event.kind === 'wait') now += event.minutes * MINUTE;
          else if (event.kind === 'withdraw' || event.kind === 'ask') {
            const requesters = event.kind === 'ask' ? [{ name: 'r.example.com' }] : [];
            const generation = (request.metadata.generation ?? 0) + 1;
            request = {
              ...request,
              metadata: { ...request.metadata, generation },
              spec: { ...request.spec, requesters },
            };
          } else if (event.kind === 'delete') pod = undefined;
          else if (event.kind === 'restart') request = structuredClone(request);
          else {
            const [name] = request.status?.activeInterceptors ?? [];
            const progress = { message: `m${now}`, completed: event.kind === 'complete' };
            const entry = name === undefined ? undefined : decideHeartbeat(request, name, progress, now);
            const interceptors = request.status?.interceptors?.map((each) =>
              each.name === name ? (entry ?? each) : each,
            );
            if (entry !== undefined && interceptors !== undefined) {
              request = merge(request, { interceptors });
              heardAt = Date.parse(entry.heartbeatTime ?? '');
            }
          }
          control();
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
