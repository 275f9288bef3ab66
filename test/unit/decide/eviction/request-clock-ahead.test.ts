import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest, InterceptorStatus } from '../../../../src/api/eviction-request.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { decideEvictionRequest } from '../../../../src/decide/eviction/request.ts';
import { rfc3339 } from '../../../../src/decide/time.ts';

const START = Date.parse('2026-01-01T00:00:00Z');
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const NAME = 'a.example.com';
const IMPERATIVE = 'imperative-eviction.k8s.io';
const POD: Pod = { metadata: { name: 'p', namespace: 'default', uid: 'u' }, spec: { nodeName: 'n' } };

function request(entry: Omit<InterceptorStatus, 'name'>): EvictionRequest {
  return {
    metadata: { name: 'u', namespace: 'default', uid: 'r', creationTimestamp: rfc3339(START) },
    spec: { target: { pod: { name: 'p', uid: 'u' } }, requesters: [{ name: 'x.example.com' }] },
    status: {
      observedGeneration: 0,
      targetInterceptors: [{ name: NAME }, { name: IMPERATIVE }],
      activeInterceptors: [NAME],
      processedInterceptors: [],
      interceptors: [
        { name: NAME, ...entry },
        { name: IMPERATIVE, message: '' },
      ],
    },
  };
}

/** Milliseconds until the next look, or who is active then. */
function lookAt(entry: Omit<InterceptorStatus, 'name'>, now: number): number | string | undefined {
  const { status, againMs } = decideEvictionRequest(request(entry), POD, now);
  return status?.activeInterceptors?.[0] ?? againMs;
}

describe('an interceptor whose clock is ahead', () => {
  it('an interceptor whose clock is 15 s ahead is believed to have completed 5 s later', () => {
    const entry = { completionTime: rfc3339(START + 15 * SECOND) };
    assert.equal(lookAt(entry, START), 5 * SECOND);
    assert.equal(lookAt(entry, START + 5 * SECOND), IMPERATIVE);
  });

  it('an interceptor whose clock is 45 s ahead keeps its turn as long as it gives signs of life', () => {
    for (let phase = 0; phase < 180; phase += 5) {
      const sent: number[] = [];
      for (let at = START + phase * SECOND; at <= START + 60 * MINUTE; at += 3 * MINUTE) sent.push(at);
      for (const at of sent) {
        const heartbeatTime = rfc3339(at + 45 * SECOND);
        const entry = { startTime: heartbeatTime, heartbeatTime };
        for (const now of [at, at + 30 * SECOND, at + 35 * SECOND, at + 179 * SECOND]) {
          const next = lookAt(entry, now);
          assert.equal(typeof next, 'number', `beat at ${rfc3339(at)}, now ${rfc3339(now)}`);
          assert.ok(Number(next) > 0);
        }
      }
    }
  });

  for (const ahead of [6 * MINUTE, 365 * 24 * 60 * MINUTE]) {
    it(`an interceptor whose clock is ${ahead / MINUTE} minutes ahead is not waited for`, () => {
      const now = START + 20 * MINUTE;
      const heartbeatTime = rfc3339(now + ahead);
      assert.equal(lookAt({ startTime: heartbeatTime, heartbeatTime }, now), IMPERATIVE);
    });
  }

  it('an interceptor whose clock is ahead is not waited for at the deadline of its node', () => {
    const heartbeatTime = rfc3339(START + 2 * MINUTE);
    const given = request({ startTime: heartbeatTime, heartbeatTime });
    const annotations = { 'nodemaintenance.x-k8s.io/interceptor-deadline': rfc3339(START + MINUTE) };
    const pressed = { ...given, metadata: { ...given.metadata, annotations } };
    const { status } = decideEvictionRequest(pressed, POD, START + MINUTE);
    assert.deepEqual(status?.activeInterceptors, [IMPERATIVE]);
  });
});
