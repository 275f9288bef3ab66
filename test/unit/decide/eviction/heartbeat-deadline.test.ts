import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest } from '../../../../src/api/eviction-request.ts';
import { DEADLINE_ANNOTATION, INTERCEPTOR_DEADLINE_ANNOTATION } from '../../../../src/api/names.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { parseReview } from '../../../../src/controller/webhook/eviction-review.ts';
import { type GracefulPod, othersUntil } from '../../../../src/decide/deadline/tiers.ts';
import { decideEvictionRequest } from '../../../../src/decide/eviction/request.ts';
import { decideTimes } from '../../../../src/decide/eviction/admission-times.ts';
import { decideEvictionStep, NO_ATTEMPT } from '../../../../src/decide/eviction/imperative.ts';
import { awaitingPodOf } from '../../../../src/decide/drain/self-drain.ts';

const SAVER = 'saver.example.com';
const IMPERATIVE = 'imperative-eviction.k8s.io';
const NOW = Date.parse('2026-01-01T00:00:00Z');
const POD: Pod = {
  metadata: {
    name: 'p',
    namespace: 'n',
    uid: 'u',
    annotations: { [`interceptor.evictionrequest.coordination.k8s.io/priority_${SAVER}`]: '10000/controller' },
  },
  spec: { nodeName: 'node' },
};

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

/** A request whose interceptor was heard of just now, and has time for 30 s. */
function requestOf(active: string): EvictionRequest {
  const names = [SAVER, 'other.example.com', 'kubelet.k8s.io', IMPERATIVE];
  return {
    metadata: {
      name: 'u',
      namespace: 'n',
      generation: 1,
      creationTimestamp: iso(NOW),
      annotations: { [DEADLINE_ANNOTATION]: iso(NOW + 120_000), [INTERCEPTOR_DEADLINE_ANNOTATION]: iso(NOW + 30_000) },
    },
    spec: { target: { pod: { name: 'p', uid: 'u' } }, requesters: [{ name: 'nodemaintenance.k8s.io' }] },
    status: {
      observedGeneration: 1,
      targetInterceptors: names.map((name) => ({ name })),
      activeInterceptors: [active],
      processedInterceptors: names.slice(0, names.indexOf(active)),
      interceptors: names.map((name) => ({ name, heartbeatTime: iso(NOW) })),
    },
  };
}

describe('the time of interceptors before a deadline', () => {
  const pod = (graceSec: number, priority = 0): GracefulPod => {
    return { podType: 'Default', priority, labels: {}, graceSec };
  };

  it('the time of interceptors lasts until the pod needs its whole grace period, where that fits', () => {
    const [web, slow] = [pod(10), pod(60)];
    const until = { since: 0, at: 3_610_000 };
    assert.equal(othersUntil(slow, [web, slow], [], until), 3_600_000 - 62_000);
    assert.equal(othersUntil(web, [web, slow], [], until), 3_600_000 - 12_000);
  });

  it('the time of interceptors is half of the tier, where the whole grace period does not fit', () => {
    const slow = pod(600);
    assert.equal(othersUntil(slow, [slow], [], { since: 0, at: 100_000 }), 45_000);
    const critical = pod(600, 2_000_000_000);
    const both = [slow, critical];
    assert.equal(othersUntil(slow, both, [], { since: 0, at: 100_000 }), 22_500);
    assert.equal(othersUntil(critical, both, [], { since: 0, at: 100_000 }), 67_500);
  });
});

describe('an interceptor before a deadline', () => {
  it('an interceptor gives way when its time is over, although its heartbeats continue, and the request says why', () => {
    const request = requestOf(SAVER);
    assert.equal(decideEvictionRequest(request, POD, NOW).againMs, 30_000);
    const { status, events, againMs } = decideEvictionRequest(request, POD, NOW + 30_000);
    assert.deepEqual(status?.activeInterceptors, ['other.example.com']);
    assert.equal(againMs, 0, 'the next one has no time either');
    const said = `${SAVER} has no more time before the deadline of the node.`;
    assert.equal(status?.conditions?.[0]?.message, `other.example.com is the active interceptor (2 of 4). ${said}`);
    assert.deepEqual([events[0]?.type, events[0]?.reason], ['Warning', 'InterceptorDeadline']);
  });

  it('an interceptor keeps its turn where it ends the pod itself', () => {
    for (const name of ['kubelet.k8s.io', IMPERATIVE]) {
      assert.equal(decideEvictionRequest(requestOf(name), POD, NOW + 60_000).status, undefined, name);
    }
  });

  it('an interceptor may be passed over by the controller then, and not earlier', () => {
    const old = requestOf(SAVER);
    const fresh = { ...old, status: { ...old.status, activeInterceptors: ['other.example.com'] } };
    const early = decideTimes(old, fresh, NOW + 19_000);
    assert.match(early.kind === 'refused' ? early.message : '', /time until 2026-01-01T00:00:30Z, by the deadline/);
    assert.equal(decideTimes(old, fresh, NOW + 20_000).kind, 'allowed', '10 s of skew are the controller’s');
  });

  it('the webhook, which sees the deadline, lets the controller pass over an interceptor', () => {
    const resource = { group: 'coordination.x-k8s.io', resource: 'evictionrequests' };
    const objects = { object: requestOf('other.example.com'), oldObject: requestOf(SAVER) };
    const asked = { uid: 'r', operation: 'UPDATE', resource, subResource: 'status', ...objects };
    const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: asked };
    const parsed = parseReview(JSON.stringify(review));
    assert.ok('old' in parsed, JSON.stringify(parsed));
    assert.equal(decideTimes(parsed.old, parsed.fresh, NOW + 30_000).kind, 'allowed');
    assert.equal(decideTimes(parsed.old, parsed.fresh, NOW + 10_000).kind, 'refused');
  });

  it('an interceptor does not delay the pod of an agent that drains its node alone', () => {
    assert.equal(awaitingPodOf(POD, requestOf(SAVER))?.on, SAVER);
    assert.equal(awaitingPodOf(POD, requestOf(SAVER), { waitsForNone: true }), undefined);
  });

  it('an interceptor is not followed by a take-over of the pod’s controller that has no time', () => {
    const annotations = { 'coordination.x-k8s.io/evict-policy': 'ControllerTakeOver' };
    const given = { request: requestOf(IMPERATIVE), pod: { ...POD, metadata: { ...POD.metadata, annotations } } };
    const patience = { takeOverMs: 60_000, promiseMs: 600_000 };
    const step = (trustUntil?: number): string =>
      decideEvictionStep(given, NO_ATTEMPT, { ...patience, trustUntil }, NOW + 30_000).kind;
    assert.deepEqual([step(), step(NOW + 40_000), step(NOW + 30_000)], ['mark', 'mark', 'evict']);
  });
});
