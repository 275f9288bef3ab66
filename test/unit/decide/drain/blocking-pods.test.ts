import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest, EvictionRequestStatus } from '../../../../src/api/eviction-request.ts';
import type { Node, Pod } from '../../../../src/api/pod.ts';
import { whyBlocking } from '../../../../src/decide/drain/blocking-pods.ts';

const NOW = Date.parse('2026-01-01T01:00:00Z');
const ago = (sec: number): string => new Date(NOW - sec * 1000).toISOString().replace('.000', '');
const IMPERATIVE = 'imperative-eviction.k8s.io';

function pod(extra: Partial<Pod['metadata']> = {}, spec: Partial<Pod['spec']> = {}): Pod {
  return { metadata: { name: 'p', namespace: 'n', uid: 'u', ...extra }, spec: { nodeName: 'one', ...spec } };
}

function request(active: string | undefined, entry: object = {}, extra: EvictionRequestStatus = {}): EvictionRequest {
  return {
    metadata: { name: 'u', namespace: 'n', creationTimestamp: ago(3600) },
    spec: { target: { pod: { name: 'p', uid: 'u' } } },
    status: {
      targetInterceptors: [{ name: 'a.example.com' }, { name: IMPERATIVE }],
      activeInterceptors: active === undefined ? [] : [active],
      interceptors: [{ name: active ?? IMPERATIVE, message: '', ...entry }],
      conditions: [
        { type: 'Progressing', status: 'True', reason: 'InterceptorActive', message: 'm', lastTransitionTime: ago(60) },
      ],
      ...extra,
    },
  };
}

const READY: Node = { metadata: { name: 'one' }, status: { conditions: [{ type: 'Ready', status: 'True' }] } };
const AWAY: Node = { metadata: { name: 'one' }, status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } };
const OWNED = {
  ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd', controller: true }],
};

const JUST_ACTIVE: EvictionRequestStatus = {
  conditions: [
    { type: 'Progressing', status: 'True', reason: 'InterceptorActive', message: 'm', lastTransitionTime: ago(5) },
  ],
};
const STATIC = pod({ annotations: { 'kubernetes.io/config.mirror': 'x' } });
const SILENT = request(IMPERATIVE, { heartbeatTime: ago(900) });
const CANCELED: EvictionRequestStatus = {
  conditions: [
    { type: 'Canceled', status: 'True', reason: 'ValidationFailed', message: 'w', lastTransitionTime: ago(60) },
  ],
};
/** The kubelet has ended the pod, and its mirror pod is there still. */
const endedByKubelet = (completionTime: string): EvictionRequest =>
  request(IMPERATIVE, {}, { interceptors: [{ name: 'kubelet.k8s.io', message: '', completionTime }] });
const LEFT = { message: 'Pod p is left to its controller (ControllerTakeOver) until later.', heartbeatTime: ago(5) };
const UNSEEN: EvictionRequest = { ...request(undefined), status: { conditions: [] } };
const NEW = { name: 'u', namespace: 'n', creationTimestamp: ago(5) };

describe('a pod that blocks a drain', () => {
  it('the message says what the evictor waits for, or that nobody has looked at the request', () => {
    const message = (known: EvictionRequest): string => whyBlocking(pod(), known, READY, NOW)?.message ?? '';
    assert.equal(message(request(IMPERATIVE, LEFT)), `${IMPERATIVE}: ${LEFT.message}`);
    assert.equal(message(UNSEEN), 'no controller has looked at its request yet');
  });

  it('what is said of an interceptor that is silent stays the same while time passes, so that it is not written anew', () => {
    const silent = request('a.example.com', { heartbeatTime: ago(600) });
    const said = whyBlocking(pod(), silent, READY, NOW);
    assert.equal(said?.message, 'a.example.com gives no sign of life; control passes on after 20 minutes of it');
    assert.deepEqual(whyBlocking(pod(), silent, READY, NOW + 5 * 60_000), said);
  });

  const count = 'Could not evict a pod due to failing eviction requests, number of retries: 3. ';
  const cases: [string, Pod, EvictionRequest | undefined, string | undefined, Node?][] = [
    ['not while it ends in its time', pod({ deletionTimestamp: ago(5) }), request(IMPERATIVE), undefined],
    ['when its time is over', pod({ deletionTimestamp: ago(60) }), request(IMPERATIVE), 'NotEnding'],
    ['by a finalizer', pod({ deletionTimestamp: ago(60), finalizers: ['x/y'] }), undefined, 'Finalizer'],
    ['on a node that nobody can reach', pod({ deletionTimestamp: ago(60) }), undefined, 'NodeUnreachable', AWAY],
    [
      'by a budget',
      pod(),
      request(IMPERATIVE, { message: `${count}Blocked by PodDisruptionBudget b: x` }),
      'PodDisruptionBudget',
    ],
    ['by a refusal', pod(), request(IMPERATIVE, { message: `${count}HTTP 500: x` }), 'EvictionRefused'],
    ['not when it was just asked for', pod(), request(IMPERATIVE, {}, JUST_ACTIVE), undefined],
    ['by whoever has not tried to evict it', pod(), request(IMPERATIVE), 'Interceptor'],
    ['by its controller, to which it is left', pod(), request(IMPERATIVE, LEFT), 'Interceptor'],
    ['not when it was just left to its controller', pod(), request(IMPERATIVE, LEFT, JUST_ACTIVE), undefined],
    ['by an evictor that is silent', pod(), SILENT, 'InterceptorSilent'],
    ['by nobody who looks at its request', pod(), UNSEEN, 'NoInterceptor'],
    ['not when its request was just made', pod(), { ...UNSEEN, metadata: NEW }, undefined],
    ['by an interceptor at work', pod(), request('a.example.com', { heartbeatTime: ago(30) }), 'Interceptor'],
    ['by one that is silent', pod(), request('a.example.com', { heartbeatTime: ago(900) }), 'InterceptorSilent'],
    ['not by the kubelet at work', pod(), request('kubelet.k8s.io', { heartbeatTime: ago(30) }), undefined],
    ['when no interceptor is left', pod(), request(undefined), 'NoInterceptor'],
    ['as a DaemonSet pod that its interceptor left', pod(OWNED), request(IMPERATIVE), 'NoInterceptor'],
    [
      'not as a static pod that has just ended, whose mirror pod the kubelet still takes away',
      STATIC,
      endedByKubelet(ago(5)),
      undefined,
    ],
    ['as a static pod that has ended, and whose mirror pod stays', STATIC, endedByKubelet(ago(60)), 'NoInterceptor'],
    [
      'as a static pod that the kubelet has from a URL, before anybody asks for it',
      pod({ annotations: { 'kubernetes.io/config.mirror': 'x', 'kubernetes.io/config.source': 'http' } }),
      undefined,
      'NotSupported',
    ],
    ['when it cannot be evicted at all', pod(), request(undefined, {}, CANCELED), 'NotSupported'],
    [
      'when its request is deleted and held',
      pod(),
      { ...request(IMPERATIVE), metadata: { name: 'u', deletionTimestamp: ago(60), finalizers: ['x.example.com/y'] } },
      'RequestHeld',
    ],
  ];
  for (const [name, target, given, expected, node = READY] of cases) {
    it(name, () => {
      assert.equal(whyBlocking(target, given, node, NOW)?.reason, expected);
    });
  }
});
