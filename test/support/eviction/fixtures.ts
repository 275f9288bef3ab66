import type { EvictionRequest, EvictionRequestStatus } from '../../../src/api/eviction-request.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { type EvictProgress, evictProgress } from '../../../src/show/progress/eviction-progress.ts';
import { rfc3339 } from '../../../src/decide/time.ts';

/** When the request was made, in milliseconds since the epoch. */
export const T0 = Date.parse('2026-11-21T12:00:00Z');
export const MINUTE = 60_000;
/** The interceptors of the pod, in order. */
export const [B, A, IMPERATIVE] = ['actor-b.example.com', 'actor-a.example.com', 'imperative-eviction.k8s.io'] as const;
const TARGET = { name: 'web', uid: 'u-1' };

/** A time so many milliseconds after the request was made. */
export const at = (ms: number): string => rfc3339(T0 + ms);

/** The pod `web`, running. */
export function pod(fields: object = {}): Pod {
  return {
    metadata: { name: 'web', namespace: 'default', uid: 'u-1', ...fields },
    spec: {},
    status: { phase: 'Running' },
  };
}

/** The request of the pod. */
export function request(
  status?: EvictionRequestStatus,
  requesters = ['cli.nodemaintenance.x-k8s.io'],
): EvictionRequest {
  return {
    metadata: { name: 'u-1', namespace: 'default', creationTimestamp: at(0) },
    spec: { target: { pod: TARGET }, requesters: requesters.map((name) => ({ name })) },
    ...(status === undefined ? {} : { status }),
  };
}

/** A request under way: B was passed over for its silence, A has its turn since minute 20. */
export function underWay(entry: object = {}): EvictionRequest {
  return request({
    targetInterceptors: [{ name: B }, { name: A }, { name: IMPERATIVE }],
    activeInterceptors: [A],
    processedInterceptors: [B],
    interceptors: [
      { name: B, message: '' },
      { name: A, message: 'Half done.', ...entry },
      { name: IMPERATIVE, message: '' },
    ],
    conditions: [
      {
        type: 'Progressing',
        status: 'True',
        reason: 'InterceptorActive',
        message: 'x',
        lastTransitionTime: at(20 * MINUTE),
      },
    ],
  });
}

/** A request that is over. */
export function ended(type: 'Evicted' | 'Canceled', message: string): EvictionRequest {
  const condition = { type, status: 'True', reason: 'X', message, lastTransitionTime: at(0) } as const;
  return request({ conditions: [condition], targetInterceptors: [{ name: A }], activeInterceptors: [] });
}

/** The progress so many milliseconds after the request was made. */
export const look = (theRequest: EvictionRequest | undefined, thePod: Pod | undefined, ms: number): EvictProgress =>
  evictProgress(TARGET, theRequest, thePod, T0 + ms);
