import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest } from '../../../../src/api/eviction-request.ts';
import type { ControllerContext } from '../../../../src/controller/context.ts';
import { createEvictionRequestReconciler } from '../../../../src/controller/eviction/reconciler.ts';
import { createImperativeEviction } from '../../../../src/controller/eviction/imperative.ts';
import { controllerOptionsSchema } from '../../../../src/controller/options.ts';
import { createSystemClock } from '../../../../src/host/clock.ts';
import { InterceptorLoop } from '../../../../src/kube/eviction/interceptor-loop.ts';
import { SILENT_LOG } from '../../../support/silent-log.ts';

/** A request of this number whose turn is the imperative interceptor's, and its pod. */
function requestOf(number: number): EvictionRequest {
  return {
    metadata: { name: `uid-${number}`, namespace: 'default', uid: `r-${number}`, resourceVersion: `${number}` },
    spec: { target: { pod: { name: 'web', uid: `uid-${number}` } }, requesters: [{ name: 'me.example.com' }] },
    status: {
      activeInterceptors: ['imperative-eviction.k8s.io'],
      processedInterceptors: [],
      targetInterceptors: [{ name: 'imperative-eviction.k8s.io' }],
      interceptors: [{ name: 'imperative-eviction.k8s.io', message: '' }],
    },
  };
}

describe('the memory of requests', () => {
  it('the memory of requests that are deleted before they are over is dropped, again and again', async () => {
    const requests = new Map<string, EvictionRequest>();
    let pod: object | undefined;
    const part = {
      // No answer to an eviction is the hardest case: nothing is known of what became of it.
      client: { send: () => Promise.reject(new Error('away')) },
      clock: createSystemClock(),
      log: SILENT_LOG,
      options: controllerOptionsSchema.parse({}),
      metrics: { begun: { inc: () => undefined } },
      events: { record: () => undefined },
      requests: { get: (key: string) => requests.get(key), list: () => [...requests.values()] },
      pods: { get: () => pod, ofRequest: () => pod, list: () => [] },
      nodes: { get: () => undefined, list: () => [] },
      budgets: { get: () => undefined, list: () => [] },
      maintenances: { get: () => undefined, list: () => [], on: () => [] },
    };
    const context = part as unknown as ControllerContext;
    const seen = new Map();
    const reconcile = createEvictionRequestReconciler(context, undefined, seen);
    const imperative = createImperativeEviction(context);
    const { reconcile: evict } = new InterceptorLoop(imperative, {
      ...context,
      request: (key) => requests.get(key),
      pod: () => Promise.resolve(context.pods.get('default/web')),
    });
    const signal = AbortSignal.timeout(10_000);
    for (let number = 0; number < 200; number += 1) {
      const request = requestOf(number);
      const key = `default/${request.metadata.name}`;
      requests.set(key, request);
      pod = { metadata: { name: 'web', namespace: 'default', uid: `uid-${number}` }, spec: { nodeName: 'n' } };
      await reconcile(key, signal).catch(() => undefined);
      await evict(key, signal).catch(() => undefined);
      assert.deepEqual([[...seen], imperative.remembered()], [[[key, request.metadata.uid]], 1]);
      requests.delete(key);
      await reconcile(key, signal);
      await evict(key, signal);
      assert.deepEqual([seen.size, imperative.remembered()], [0, 0]);
    }
  });
});
