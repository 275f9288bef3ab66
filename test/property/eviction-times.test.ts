import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { EvictionRequest, InterceptorStatus } from '../../src/api/eviction-request.ts';
import type { Pod } from '../../src/api/pod.ts';
import { decideEvictionRequest } from '../../src/decide/eviction/request.ts';
import { decideTimes } from '../../src/decide/eviction/admission-times.ts';
import { decideHeartbeat } from '../../src/decide/eviction/heartbeat.ts';
import { rfc3339 } from '../../src/decide/time.ts';

const START = Date.parse('2026-05-01T12:00:00Z');
const NAME = 'actor.example.com';
const pod: Pod = {
  metadata: {
    name: 'web',
    namespace: 'default',
    uid: 'u-1',
    annotations: { [`interceptor.evictionrequest.coordination.k8s.io/priority_${NAME}`]: '10000/controller' },
  },
  spec: {},
};

function entryOf(request: EvictionRequest): InterceptorStatus | undefined {
  return request.status?.interceptors?.find(({ name }) => name === NAME);
}

/** A step of the play: who acts, so many milliseconds after the last one. */
const step = fc.record({
  actor: fc.constantFrom('controller', 'beats', 'completes'),
  afterMs: fc.oneof(fc.integer({ min: 0, max: 90_000 }), fc.integer({ min: 0, max: 45 * 60_000 })),
  estimateMs: fc.option(fc.integer({ min: 0, max: 60_000 }), { nil: undefined }),
});
/**
 * How far the clocks of the controller and of the interceptor are ahead of the webhook's, no two of the three more than
 * 10 s apart: beyond that the controller ignores a fresh heartbeat that the webhook has accepted and goes by.
 */
const clocks = fc
  .tuple(fc.integer({ min: -10_000, max: 0 }), fc.nat({ max: 10_000 }), fc.nat({ max: 10_000 }))
  .map(([slowest, controller, actor]) => ({ controllerMs: slowest + controller, actorMs: slowest + actor }));

describe('a request whose actors have clocks that are at most 10 s apart', () => {
  it('the webhook never refuses what the controller and an interceptor of this program write', () => {
    let beats = 0;
    let passedOn = 0;
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), clocks, (steps, { controllerMs, actorMs }) => {
        let now = START;
        let request: EvictionRequest = {
          metadata: { name: 'u-1', namespace: 'default', creationTimestamp: rfc3339(START), generation: 1 },
          spec: { target: { pod: { name: 'web', uid: 'u-1' } }, requesters: [{ name: 'drainer.example.com' }] },
        };
        const write = (status: EvictionRequest['status']): void => {
          const fresh = { ...request, status: { ...request.status, ...status } };
          assert.deepEqual(decideTimes(request, fresh, now), { kind: 'allowed' });
          request = fresh;
        };
        for (const { actor, afterMs, estimateMs } of steps) {
          now += afterMs;
          if (actor === 'controller') {
            const { status } = decideEvictionRequest(request, pod, now + controllerMs);
            if (status?.processedInterceptors?.length === 1) passedOn += 1;
            if (status !== undefined) write(status);
            continue;
          }
          if (request.status?.activeInterceptors?.[0] !== NAME) continue;
          const actorNow = now + actorMs;
          const progress = {
            message: `at ${actorNow}`,
            completed: actor === 'completes',
            ...(estimateMs === undefined ? {} : { expectedFinishAt: actorNow + estimateMs }),
          };
          const entry = decideHeartbeat(request, NAME, progress, actorNow);
          if (entry === undefined) continue;
          beats += 1;
          const others = request.status?.interceptors?.filter((each) => each !== entryOf(request)) ?? [];
          write({ interceptors: [entry, ...others] });
        }
      }),
      { numRuns: 2_000 },
    );
    assert.ok(beats > 1_000 && passedOn > 500, `${beats} beats, passed on ${passedOn} times`);
  });
});

describe('a write that changes no time and no active interceptor', () => {
  it('the webhook never refuses it, whatever times are stored', () => {
    const time = fc.date({ noInvalidDate: true }).map((date) => date.toISOString());
    const entry = fc.record(
      { name: fc.constantFrom(NAME, 'b.example.com'), startTime: time, heartbeatTime: time, completionTime: time },
      { requiredKeys: ['name'] },
    );
    const entries = fc.uniqueArray(entry, { selector: ({ name }) => name });
    fc.assert(
      fc.property(entries, fc.integer({ min: 0, max: 2 ** 41 }), fc.string(), (interceptors, now, message) => {
        const metadata = { name: 'u-1' };
        const spec = { target: { pod: { name: 'web', uid: 'u-1' } } };
        const old: EvictionRequest = { metadata, spec, status: { activeInterceptors: [NAME], interceptors } };
        const said = interceptors.map((each) => ({ ...each, message }));
        const fresh = { ...old, status: { ...old.status, interceptors: said } };
        assert.equal(decideTimes(old, fresh, now).kind, 'allowed');
      }),
    );
  });
});
