import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest, EvictionRequestStatus } from '../../../../src/api/eviction-request.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { isReplaceable, isSpent } from '../../../../src/decide/eviction/spent-request.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const MINUTE = 60_000;
const KUBELET = 'kubelet.k8s.io';
const DAEMON_SET = 'daemonset.apps.k8s.io';
const IMPERATIVE = 'imperative-eviction.k8s.io';
const OTHER = 'a.example.com';

function pod(metadata: Partial<Pod['metadata']> = {}, spec: Partial<Pod['spec']> = {}): Pod {
  return { metadata: { name: 'p', namespace: 'default', uid: 'u', ...metadata }, spec: { nodeName: 'n', ...spec } };
}

const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd', controller: true };
const ORDINARY = pod();
const INTERCEPTED = pod({}, { evictionInterceptors: [{ name: OTHER }] });
const STATIC = pod({ annotations: { 'kubernetes.io/config.mirror': 'x' } });
const OF_DAEMON_SET = pod({ ownerReferences: [owner] });
const GROUPED = pod({}, { workloadRef: {} });

/** A request whose interceptor at `index` is active; none where the index is beyond the last one. */
function request(names: readonly string[], index: number, extra: EvictionRequestStatus = {}): EvictionRequest {
  const active = names[index];
  return {
    metadata: { name: 'u', namespace: 'default', uid: 'r' },
    spec: { target: { pod: { name: 'p', uid: 'u' } }, requesters: [{ name: 'x.example.com' }] },
    status: {
      targetInterceptors: names.map((name) => ({ name })),
      activeInterceptors: active === undefined ? [] : [active],
      processedInterceptors: names.slice(0, index),
      ...extra,
    },
  };
}

function ended(type: 'Canceled' | 'Evicted', at = NOW): EvictionRequestStatus {
  const lastTransitionTime = new Date(at).toISOString();
  return { conditions: [{ type, status: 'True', reason: 'x', message: '', lastTransitionTime }] };
}

function deleted(given: EvictionRequest, at = NOW): EvictionRequest {
  const deletionTimestamp = new Date(at).toISOString();
  return { ...given, metadata: { ...given.metadata, deletionTimestamp, finalizers: ['x.example.com/hold'] } };
}

describe('a spent request', () => {
  const done = { interceptors: [{ name: OTHER, completionTime: '2026-01-01T11:00:00Z' }] };
  const unstarted = { ...request([], 0), status: {} };
  const cases: [string, EvictionRequest, Pod, boolean][] = [
    ['has passed kubelet.k8s.io by for a static pod', request([KUBELET, IMPERATIVE], 1), STATIC, true],
    ['has passed daemonset.apps.k8s.io by for its pod', request([DAEMON_SET, IMPERATIVE], 1), OF_DAEMON_SET, true],
    ['never had the interceptor of a pod that a DaemonSet has adopted', request([IMPERATIVE], 0), OF_DAEMON_SET, true],
    ['has no interceptor left for an ordinary pod', request([IMPERATIVE], 1), ORDINARY, true],
    ['is deleted and held, and nobody else is to be asked', deleted(unstarted), ORDINARY, true],
    ['is canceled and held', deleted(request([IMPERATIVE], 9, ended('Canceled'))), ORDINARY, true],
    [
      'is held, and its other interceptors have completed',
      deleted(request([OTHER, IMPERATIVE], 1, done)),
      INTERCEPTED,
      true,
    ],
    ['is not held where one was interrupted', deleted(request([OTHER, IMPERATIVE], 1)), INTERCEPTED, false],
    ['is held for 20 minutes', deleted(request([OTHER, IMPERATIVE], 0), NOW - 20 * MINUTE), INTERCEPTED, true],
    ['is not one whose turn is right', request([KUBELET, IMPERATIVE], 0), STATIC, false],
    ['is not one whose turn is to come', request([OTHER, DAEMON_SET, IMPERATIVE], 0), OF_DAEMON_SET, false],
    ['is not one that another still works on', request([KUBELET, OTHER, IMPERATIVE], 1), STATIC, false],
    ['is not one that has not begun', unstarted, STATIC, false],
    ['is not one of the Eviction API at work', request([OTHER, IMPERATIVE], 1), INTERCEPTED, false],
    ['is not a canceled one that can be replaced', request([KUBELET, IMPERATIVE], 9, ended('Canceled')), STATIC, false],
    ['is not held for less than 20 minutes', deleted(request([OTHER, IMPERATIVE], 0), NOW - 1), INTERCEPTED, false],
    ['is not that of a pod in a PodGroup', deleted(unstarted), GROUPED, false],
  ];
  for (const [name, given, target, expected] of cases) {
    it(`a spent request ${name}`, () => {
      assert.equal(isSpent(given, target, NOW), expected);
    });
  }

  it('a spent request is a held one at the deadline of its node', () => {
    const held = deleted(request([OTHER, IMPERATIVE], 0), NOW - MINUTE);
    const annotations = { 'nodemaintenance.x-k8s.io/interceptor-deadline': new Date(NOW).toISOString() };
    const pressed = { ...held, metadata: { ...held.metadata, annotations } };
    assert.deepEqual([isSpent(pressed, INTERCEPTED, NOW - 1), isSpent(pressed, INTERCEPTED, NOW)], [false, true]);
  });
});

describe('a replaceable request', () => {
  const canceled = request([IMPERATIVE], 9, ended('Canceled'));
  const terminating = pod({ deletionTimestamp: '2026-01-01T12:00:30Z' });
  const evicted = (at: number): EvictionRequest => request([KUBELET, IMPERATIVE], 9, ended('Evicted', at));
  const cases: [string, EvictionRequest, Pod, boolean][] = [
    ['is canceled while its pod lives', canceled, ORDINARY, true],
    ['has evicted a static pod that has started again', evicted(NOW - MINUTE), STATIC, true],
    ['is not one that evicted its pod just now', evicted(NOW - MINUTE + 1), STATIC, false],
    ['is not one at work', request([IMPERATIVE], 0), ORDINARY, false],
    ['is not one that is deleted already', deleted(canceled), ORDINARY, false],
    ['is not that of a terminating pod', canceled, terminating, false],
    ['is not that of a pod that has ended', canceled, { ...ORDINARY, status: { phase: 'Failed' } }, false],
    ['is not that of a pod in a PodGroup', canceled, GROUPED, false],
  ];
  for (const [name, given, target, expected] of cases) {
    it(`a replaceable request ${name}`, () => {
      assert.equal(isReplaceable(given, target, NOW), expected);
    });
  }
});
