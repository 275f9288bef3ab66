import {
  CANCELED,
  EVICTED,
  type EvictionRequest,
  type InterceptorStatus,
  PROGRESSING,
} from '../../api/eviction-request.ts';
import type { Pod } from '../../api/pod.ts';
import { attemptsOf } from '../../decide/interceptor/message.ts';
import { hasCondition, isFinished, lastHeard } from '../../decide/eviction/request.ts';
import { giveWayAt } from '../../decide/eviction/heartbeat-deadline.ts';
import { interceptorEntry } from '../../decide/eviction/heartbeat.ts';
import { trustedEntry } from '../../decide/eviction/trusted-times.ts';
import { isTerminal } from '../../decide/pod.ts';
import { timeOf } from '../../decide/time.ts';

/** The pod whose eviction is watched. */
export interface EvictTarget {
  readonly name: string;
  readonly uid: string;
}

/**
 * The state of an interceptor: it has completed, was passed over for its silence, is active, is active but the eviction is
 * refused, or comes later.
 */
type InterceptorState = 'done' | 'silent' | 'active' | 'blocked' | 'next';

/** One interceptor of a request. */
interface InterceptorView {
  readonly name: string;
  readonly state: InterceptorState;
  readonly message: string;
}

/** The active interceptor; all times in milliseconds since the epoch. */
export interface ActiveInterceptor {
  readonly name: string;
  /** Its place, from 1, and how many there are. */
  readonly place: number;
  readonly count: number;
  readonly message: string;
  readonly blocked: boolean;
  /** When it was activated, or began. */
  readonly since: number;
  readonly heartbeatAt?: number;
  /** Its own estimate of the end. */
  readonly expectedAt?: number;
  /** When the request passes on without another heartbeat; absent for the last interceptor, as is `passesTo`. */
  readonly passesOnAt?: number;
  readonly passesTo?: string;
}

/** The state of an eviction. */
type EvictState =
  /** No controller has taken it up. */
  | 'requested'
  | 'active'
  /** Every interceptor has completed, and the pod is still there. */
  | 'abandoned'
  /** The pod is gone or has ended; the controller has not confirmed it. */
  | 'gone'
  | 'evicted'
  | 'canceled';

/** The progress of an eviction, for people. */
export interface EvictProgress {
  readonly state: EvictState;
  /** The reason, in the states without an active interceptor. */
  readonly message: string;
  readonly requesters: readonly string[];
  readonly interceptors: readonly InterceptorView[];
  readonly active?: ActiveInterceptor;
  /** When the grace period of a terminating pod ends, in milliseconds since the epoch. */
  readonly terminatingUntil?: number;
}

/** A controller takes a request up within a second; after this many milliseconds without one the message says so. */
export const UNNOTICED_MS = 15_000;

function messageOf(request: EvictionRequest, type: string): string {
  return request.status?.conditions?.find((each) => each.type === type)?.message ?? '';
}

function viewInterceptor(request: EvictionRequest, name: string): InterceptorView {
  const entry = interceptorEntry(request, name);
  const message = entry?.message ?? '';
  const { activeInterceptors = [], processedInterceptors = [] } = request.status ?? {};
  if (activeInterceptors.includes(name))
    return { name, state: attemptsOf(message) > 0 ? 'blocked' : 'active', message };
  if (!processedInterceptors.includes(name)) return { name, state: 'next', message };
  return { name, state: entry?.completionTime === undefined ? 'silent' : 'done', message };
}

/** The active interceptor (KEP-4563, "Interceptor Selection"); undefined where there is none. */
function activeInterceptorOf(request: EvictionRequest, now: number): ActiveInterceptor | undefined {
  const { targetInterceptors = [], activeInterceptors = [] } = request.status ?? {};
  const [name] = activeInterceptors;
  if (name === undefined) return undefined;
  const index = targetInterceptors.findIndex((each) => each.name === name);
  const raw = interceptorEntry(request, name);
  const entry: InterceptorStatus | undefined = raw === undefined ? undefined : trustedEntry(raw, now);
  const message = entry?.message ?? '';
  const next = targetInterceptors[index + 1]?.name;
  const activatedAt = lastHeard(request, undefined, now);
  const heartbeatAt = timeOf(entry?.heartbeatTime);
  const expectedAt = timeOf(entry?.expectedFinishTime);
  return {
    name,
    place: index + 1,
    count: targetInterceptors.length,
    message,
    blocked: attemptsOf(message) > 0,
    since: activatedAt,
    ...(heartbeatAt === undefined ? {} : { heartbeatAt }),
    ...(expectedAt === undefined ? {} : { expectedAt }),
    ...(next === undefined
      ? {}
      : { passesOnAt: giveWayAt(request, name, lastHeard(request, entry, now)).at, passesTo: next }),
  };
}

function stateOf(
  target: EvictTarget,
  request: EvictionRequest | undefined,
  pod: Pod | undefined,
  now: number,
): Pick<EvictProgress, 'state' | 'message'> {
  if (request !== undefined && hasCondition(request, EVICTED)) {
    return { state: 'evicted', message: messageOf(request, EVICTED) };
  }
  // The request of a pod that is gone is not read: a controller that starts late reports the pod as not found.
  if (pod === undefined) return { state: 'gone', message: `Pod ${target.name} was deleted.` };
  if (isTerminal(pod)) {
    return { state: 'gone', message: `Pod ${target.name} reached the phase ${pod.status?.phase}.` };
  }
  if (request === undefined) return { state: 'canceled', message: 'The EvictionRequest was deleted.' };
  if (isFinished(request)) return { state: 'canceled', message: messageOf(request, CANCELED) };
  if (request.status?.targetInterceptors === undefined) {
    const waitingMs = now - (timeOf(request.metadata.creationTimestamp) ?? now);
    const message =
      waitingMs < UNNOTICED_MS
        ? 'No controller has taken it up yet.'
        : 'No controller has taken it up; is nodemaint controller running?';
    return { state: 'requested', message };
  }
  if ((request.status.activeInterceptors ?? []).length > 0) return { state: 'active', message: '' };
  return { state: 'abandoned', message: messageOf(request, PROGRESSING) };
}

/**
 * The progress of the eviction of a pod at `now` (milliseconds since the epoch), from its request and the pod of its name,
 * where they exist.
 */
export function evictProgress(
  target: EvictTarget,
  request: EvictionRequest | undefined,
  namesake: Pod | undefined,
  now: number,
): EvictProgress {
  const pod = namesake?.metadata.uid === target.uid ? namesake : undefined;
  const active = request === undefined ? undefined : activeInterceptorOf(request, now);
  const terminatingUntil = timeOf(pod?.metadata.deletionTimestamp);
  return {
    ...stateOf(target, request, pod, now),
    requesters: (request?.spec.requesters ?? []).map(({ name }) => name),
    interceptors:
      request === undefined
        ? []
        : (request.status?.targetInterceptors ?? []).map(({ name }) => viewInterceptor(request, name)),
    ...(active === undefined ? {} : { active }),
    ...(terminatingUntil === undefined ? {} : { terminatingUntil }),
  };
}

/** Whether there is nothing more to wait for. */
export function isOver({ state }: EvictProgress): boolean {
  return state === 'evicted' || state === 'gone' || state === 'canceled';
}
