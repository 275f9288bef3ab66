/**
 * EvictionRequests that can no longer make their pod leave. A request outlives what it was made for: somebody asks for a
 * static pod on a day without a maintenance, its interceptor stays silent, and control passes on to one that cannot end it.
 */
import { CANCELED, type EvictionRequest } from '../../api/eviction-request.ts';
import { HEARTBEAT_DEADLINE_MS, othersDeadline } from './heartbeat-deadline.ts';
import { IMPERATIVE_INTERCEPTOR } from '../../api/names.ts';
import type { Pod } from '../../api/pod.ts';
import { isInPodGroup, isTerminal, podTypeOf } from '../pod.ts';
import { timeOf } from '../time.ts';
import { interceptorEntry } from './heartbeat.ts';
import { ENDING_INTERCEPTOR, interceptorsOf } from './interceptors.ts';
import { finishedAt, hasCondition, isFinished } from './request.ts';

/** An evicted pod may be in our copy for a moment; one that is there for longer has started again. */
const COPY_LAG_MS = 60_000;

/**
 * Whether a request that is deleted, but kept by finalizers, keeps no interceptor of the pod from its part: all have
 * completed, or nobody could ask them for as long as a silent one is waited for.
 */
function isDeletedForLong(request: EvictionRequest, pod: Pod, own: string, now: number): boolean {
  const others = interceptorsOf(pod).names.filter((name) => name !== own && name !== IMPERATIVE_INTERCEPTOR);
  const since = timeOf(request.metadata.deletionTimestamp) ?? now;
  const until = Math.min(since + HEARTBEAT_DEADLINE_MS, othersDeadline(request) ?? Infinity);
  return others.every((name) => interceptorEntry(request, name)?.completionTime !== undefined) || now >= until;
}

/**
 * Whether the request can no longer make its pod leave: the interceptor that ends pods of this type is not active and not
 * yet to come, and no other one is at work; or the request is being deleted, but finalizers hold it, so that there cannot
 * be another one for the pod. While a drain targets the pod, the interceptor that ends pods of this type acts
 * on such a request although it is not active (KEP-4563: a request that is stuck must not halt a maintenance).
 * `pod` is the target of the request; `now` is in milliseconds since the epoch.
 */
export function isSpent(request: EvictionRequest, pod: Pod, now: number): boolean {
  const own = ENDING_INTERCEPTOR[podTypeOf(pod)];
  if (isInPodGroup(pod)) return false;
  if (request.metadata.deletionTimestamp !== undefined) return isDeletedForLong(request, pod, own, now);
  const { targetInterceptors, activeInterceptors = [] } = request.status ?? {};
  if (isFinished(request) || targetInterceptors === undefined) return false;
  const [active] = activeInterceptors;
  if (active === undefined) return true;
  // The Eviction API is the last interceptor: it passes control on to nobody.
  return active === IMPERATIVE_INTERCEPTOR && own !== IMPERATIVE_INTERCEPTOR;
}

/**
 * Whether a requester may delete the finished request and make another one: its pod lives on, although the request was
 * canceled, or evicted the pod some time ago and the pod has started again, as static pods do.
 * `pod` is the target of the request; `now` is in milliseconds since the epoch.
 */
export function isReplaceable(request: EvictionRequest, pod: Pod, now: number): boolean {
  if (!isFinished(request) || request.metadata.deletionTimestamp !== undefined) return false;
  if (pod.metadata.deletionTimestamp !== undefined || isTerminal(pod) || isInPodGroup(pod)) return false;
  return hasCondition(request, CANCELED) || now >= (finishedAt(request) ?? now) + COPY_LAG_MS;
}
