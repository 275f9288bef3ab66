import type { Condition } from '../api/meta.ts';
import {
  CANCELED,
  EVICTED,
  type EvictionRequest,
  type EvictionRequestStatus,
  HEARTBEAT_DEADLINE_MS,
} from '../api/eviction-request.ts';
import type { Pod } from '../api/pod.ts';
import { interceptorsOf } from './interceptor.ts';
import { isTerminal } from './pod.ts';

/** What the EvictionRequest controller writes, if anything, and when it has to look again. */
export interface EvictionDecision {
  /** The fields of the status that change; absent where nothing does. */
  readonly status?: EvictionRequestStatus;
  /** Milliseconds until the active interceptor's deadline; absent where none runs. */
  readonly lookAgainMs?: number;
}

/** Whether a condition is True on the request. */
export function hasCondition(request: EvictionRequest, type: string): boolean {
  return (
    request.status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') === true
  );
}

/** Whether the request is over: its pod evicted, or itself canceled (KEP-4563, "EvictionRequest Completion"). */
export function isFinished(request: EvictionRequest): boolean {
  return hasCondition(request, EVICTED) || hasCondition(request, CANCELED);
}

function conditions(request: EvictionRequest, now: number, type: string, reason: string, message: string): Condition[] {
  const others = (request.status?.conditions ?? []).filter((condition) => condition.type !== type);
  const lastTransitionTime = new Date(now).toISOString();
  return [...others, { type, status: 'True', reason, message, lastTransitionTime }];
}

function finish(
  request: EvictionRequest,
  now: number,
  type: string,
  reason: string,
  message: string,
): EvictionDecision {
  const active = request.status?.activeInterceptors ?? [];
  return {
    status: {
      observedGeneration: request.metadata.generation ?? 0,
      conditions: conditions(request, now, type, reason, message),
      activeInterceptors: [],
      processedInterceptors: [...(request.status?.processedInterceptors ?? []), ...active],
    },
  };
}

/** When the interceptor was last heard of: its heartbeat, else its activation, else the request's creation, in ms. */
function lastHeard(request: EvictionRequest, active: string): number {
  const own = request.status?.interceptors?.find(({ name }) => name === active);
  if (own?.heartbeatTime !== undefined) return Date.parse(own.heartbeatTime);
  const previous = request.status?.processedInterceptors?.at(-1);
  const before = request.status?.interceptors?.find(({ name }) => name === previous);
  const created = Date.parse(request.metadata.creationTimestamp ?? '');
  if (before?.completionTime !== undefined) return Math.max(created, Date.parse(before.completionTime));
  const ended = before?.heartbeatTime === undefined ? created : Date.parse(before.heartbeatTime);
  return previous === undefined ? created : ended + HEARTBEAT_DEADLINE_MS;
}

function rotate(request: EvictionRequest, now: number): EvictionDecision {
  const { targetInterceptors = [], processedInterceptors = [], interceptors = [] } = request.status ?? {};
  const active = request.status?.activeInterceptors?.[0];
  const generation = request.metadata.generation ?? 0;
  const observed =
    request.status?.observedGeneration === generation ? {} : { status: { observedGeneration: generation } };
  if (active === undefined) return observed;
  const completed = interceptors.find(({ name }) => name === active)?.completionTime !== undefined;
  const deadline = lastHeard(request, active) + HEARTBEAT_DEADLINE_MS;
  if (!completed && now < deadline) return { ...observed, lookAgainMs: deadline - now };
  const index = targetInterceptors.findIndex(({ name }) => name === active);
  const next = targetInterceptors[index + 1];
  // The last interceptor has nobody to pass to: it stays, and goes on trying, unless it has withdrawn.
  if (next === undefined && !completed) return observed;
  return {
    status: {
      observedGeneration: generation,
      activeInterceptors: next === undefined ? [] : [next.name],
      processedInterceptors: [...processedInterceptors, active],
    },
    lookAgainMs: HEARTBEAT_DEADLINE_MS,
  };
}

/**
 * One step of the EvictionRequest controller (KEP-4563, "Eviction Request Controller"): validates the target, selects
 * the first interceptor, passes control on, and ends the request. `pod` is the pod of the target's name, if there is one.
 */
export function decideEvictionRequest(request: EvictionRequest, pod: Pod | undefined, now: number): EvictionDecision {
  const generation = request.metadata.generation ?? 0;
  if (isFinished(request)) {
    return request.status?.observedGeneration === generation ? {} : { status: { observedGeneration: generation } };
  }
  const { name, uid } = request.spec.target.pod;
  const started = request.status?.targetInterceptors !== undefined;
  if (pod === undefined || pod.metadata.uid !== uid) {
    return started
      ? finish(request, now, EVICTED, 'PodDeleted', `Target Pod ${name} was deleted.`)
      : finish(request, now, CANCELED, 'ValidationFailed', `Target Pod ${name} was not found.`);
  }
  if (pod.spec.workloadRef !== undefined) {
    const message = `Target Pod ${name} is part of a Workload/PodGroup. Eviction of such pods is currently not supported.`;
    return finish(request, now, CANCELED, 'ValidationFailed', message);
  }
  if (isTerminal(pod)) {
    return finish(request, now, EVICTED, 'PodTerminal', `Target Pod ${name} reached the phase ${pod.status?.phase}.`);
  }
  if ((request.spec.requesters ?? []).length === 0) {
    return finish(request, now, CANCELED, 'NoRequesters', `Nobody requests the eviction of Pod ${name} any more.`);
  }
  if (started) return rotate(request, now);
  const targetInterceptors = interceptorsOf(pod).map((interceptor) => ({ name: interceptor }));
  return {
    status: {
      observedGeneration: generation,
      targetInterceptors,
      activeInterceptors: targetInterceptors.slice(0, 1).map((interceptor) => interceptor.name),
      processedInterceptors: [],
      interceptors: targetInterceptors.map((interceptor) => ({ name: interceptor.name, message: '' })),
    },
    lookAgainMs: HEARTBEAT_DEADLINE_MS,
  };
}
