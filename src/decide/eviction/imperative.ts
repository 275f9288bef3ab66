import type { EvictionRequest } from '../../api/eviction-request.ts';
import {
  CONTROLLER_TAKE_OVER,
  EVICT_ONLY_ANNOTATION,
  EVICT_POLICY_ANNOTATION,
  EVICT_WANTED_ANNOTATION,
  EVICTION_IN_PROGRESS_ANNOTATION,
  IMPERATIVE_INTERCEPTOR,
} from '../../api/names.ts';
import type { Pod } from '../../api/pod.ts';
import { attemptsOf, type EvictionOutcome } from './api-answer.ts';
import { HEARTBEAT_EVERY_MS, interceptorEntry, type Progress } from './heartbeat.ts';
import { endOf, graceSecOf, podTypeOf } from '../pod.ts';
import { rfc3339, timeOf } from '../time.ts';

/** How long others are trusted with an eviction, in milliseconds. */
export interface EvictionPatience {
  /** Pod Evict Policy: if the pod has not ended after this time, a take-over falls back to the Eviction API. */
  readonly takeOverMs: number;
  /** KEP-1397: if the pod has not ended after this time, a promised eviction is requested again. */
  readonly promiseMs: number;
  /** When the pod's controller is trusted no longer, in milliseconds since the epoch; absent where no deadline presses. */
  readonly trustUntil?: number | undefined;
}

/** What is evicted. */
export interface EvictionTarget {
  readonly request: EvictionRequest;
  readonly pod: Pod;
}

/** What is remembered of the attempts at one request; only the count outlives the process, in the message. */
export interface EvictionMemory {
  readonly count: number;
  /** Milliseconds since the epoch before which there is no other attempt. */
  readonly nextAt: number;
  /** The budgets that blocked the last attempt. */
  readonly blockedBy: readonly string[];
  readonly promisedAt?: number;
  readonly acceptedAt?: number;
}

/** What the imperative interceptor does next. */
export type EvictionStep =
  /** Nothing but to say so, and to look again; `idle` where no work is done, so that no heartbeat is due. */
  | { readonly kind: 'wait'; readonly progress: Progress; readonly againMs: number; readonly idle?: true }
  /** Marks the pod for its controller (Pod Evict Policy). */
  | { readonly kind: 'mark'; readonly progress: Progress; readonly againMs: number }
  | { readonly kind: 'evict'; readonly attempt: number };

/** An accepted eviction is not asked for again until our copy of the pod has had time to show it. */
const ACCEPTED_PAUSE_MS = 30_000;

/** The memory after the clock was set forward by `ms` milliseconds, or back where they are negative: nothing is due earlier or later. */
export function movedMemory(memory: EvictionMemory, ms: number): EvictionMemory {
  const { nextAt, promisedAt, acceptedAt } = memory;
  return {
    ...memory,
    nextAt: nextAt === 0 ? 0 : nextAt + ms,
    ...(promisedAt === undefined ? {} : { promisedAt: promisedAt + ms }),
    ...(acceptedAt === undefined ? {} : { acceptedAt: acceptedAt + ms }),
  };
}

/** What is known of the attempts when a process starts: the count of the interceptor's own message, and a promise. */
export function rememberedAttempts(request: EvictionRequest, pod: Pod, now: number): EvictionMemory {
  const count = attemptsOf(interceptorEntry(request, IMPERATIVE_INTERCEPTOR)?.message);
  return { count, nextAt: 0, blockedBy: [], ...(isInBackground(pod) ? { promisedAt: now } : {}) };
}

/** Whether the pod's eviction is only to be asked for (KEP-1397). */
export function isEvictOnly(pod: Pod): boolean {
  return pod.metadata.annotations?.[EVICT_ONLY_ANNOTATION] !== undefined;
}

/** Whether the pod's eviction in the background has started (KEP-1397). */
export function isInBackground(pod: Pod): boolean {
  return isEvictOnly(pod) && pod.metadata.annotations?.[EVICTION_IN_PROGRESS_ANNOTATION] !== undefined;
}

/** Whether the pod is marked for its controller, which has to be taken back when the request is canceled. */
export function isMarked(pod: Pod): boolean {
  return pod.metadata.annotations?.[EVICT_WANTED_ANNOTATION] !== undefined;
}

/** Whether the pod's own controller takes its evictions over (Pod Evict Policy). */
export function isTakenOver(pod: Pod): boolean {
  return pod.metadata.annotations?.[EVICT_POLICY_ANNOTATION] === CONTROLLER_TAKE_OVER;
}

/** The one step after which a pod can be left to its controller (Pod Evict Policy, "Kubernetes Evict Pod"). */
function takeOver(
  request: EvictionRequest,
  pod: Pod,
  patience: EvictionPatience,
  now: number,
): EvictionStep | undefined {
  if (!isTakenOver(pod)) return undefined;
  const startTime = interceptorEntry(request, IMPERATIVE_INTERCEPTOR)?.startTime;
  const markedAt = isMarked(pod) ? timeOf(startTime) : undefined;
  const until = Math.min((markedAt ?? now) + patience.takeOverMs, patience.trustUntil ?? Infinity);
  if (now >= until) return undefined;
  const message = `Pod ${pod.metadata.name} is left to its controller (ControllerTakeOver) until ${rfc3339(until)}.`;
  const progress: Progress = { message, expectedFinishAt: until };
  return { kind: isMarked(pod) ? 'wait' : 'mark', progress, againMs: until - now };
}

/** A promise that is still believed (KEP-1397): the pod is annotated, or the answer said so, and the time is not over. */
function promised(pod: Pod, memory: EvictionMemory, patience: EvictionPatience, now: number): EvictionStep | undefined {
  if (memory.promisedAt === undefined) return undefined;
  const until = memory.promisedAt + patience.promiseMs;
  if (now >= until) return undefined;
  const state = isInBackground(pod) ? 'in progress' : 'promised';
  const message = `The eviction of pod ${pod.metadata.name} in the background is ${state}; it is asked for again at ${rfc3339(until)}.`;
  return { kind: 'wait', progress: { message }, againMs: Math.min(until - now, HEARTBEAT_EVERY_MS) };
}

/**
 * The next step of the interceptor `imperative-eviction.k8s.io` (KEP-4563, "Eviction") for a request that is its own to
 * act on: no attempt on terminating, mirror or DaemonSet pods, none before its time, none while others are at it.
 */
export function decideEvictionStep(
  { request, pod }: EvictionTarget,
  memory: EvictionMemory,
  patience: EvictionPatience,
  now: number,
): EvictionStep {
  const { name } = pod.metadata;
  const end = endOf(pod);
  if (end !== undefined) {
    const progress = { message: `Pod ${name} is terminating.`, expectedFinishAt: end.endsAt };
    return { kind: 'wait', progress, againMs: HEARTBEAT_EVERY_MS };
  }
  const podType = podTypeOf(pod);
  if (podType !== 'Default') {
    const message = `API-initiated eviction of ${podType} pods is not supported; waiting for ${name} to end by other means.`;
    return { kind: 'wait', progress: { message }, againMs: HEARTBEAT_EVERY_MS, idle: true };
  }
  const others = takeOver(request, pod, patience, now) ?? promised(pod, memory, patience, now);
  if (others !== undefined) return others;
  if (memory.acceptedAt !== undefined && now < memory.nextAt) {
    const expectedFinishAt = memory.acceptedAt + graceSecOf(pod) * 1000;
    return {
      kind: 'wait',
      progress: { message: `Pod ${name} is terminating.`, expectedFinishAt },
      againMs: memory.nextAt - now,
    };
  }
  if (now < memory.nextAt) {
    const message = interceptorEntry(request, IMPERATIVE_INTERCEPTOR)?.message ?? '';
    return { kind: 'wait', progress: { message }, againMs: memory.nextAt - now, idle: true };
  }
  return { kind: 'evict', attempt: memory.count + 1 };
}

/** What is remembered after an attempt, and what is said about it. */
export function afterAttempt(
  pod: Pod,
  attempt: number,
  outcome: EvictionOutcome,
  now: number,
): { readonly memory: EvictionMemory; readonly progress?: Progress } {
  const { name } = pod.metadata;
  switch (outcome.kind) {
    case 'gone':
      return { memory: { count: attempt, nextAt: now + ACCEPTED_PAUSE_MS, blockedBy: [] } };
    case 'accepted':
      return {
        memory: { count: attempt, nextAt: now + ACCEPTED_PAUSE_MS, blockedBy: [], acceptedAt: now },
        progress: { message: `Pod ${name} is terminating.`, expectedFinishAt: now + graceSecOf(pod) * 1000 },
      };
    case 'promised':
      return {
        memory: { count: attempt, nextAt: 0, blockedBy: [], promisedAt: now },
        progress: { message: `The eviction of pod ${name} in the background is promised: ${outcome.message}` },
      };
    case 'postponed':
      return {
        memory: { count: attempt - 1, nextAt: now + outcome.retryAfterMs, blockedBy: [] },
        progress: { message: outcome.message },
      };
    case 'blocked':
      return {
        memory: { count: attempt, nextAt: now + outcome.retryAfterMs, blockedBy: outcome.budgets },
        progress: { message: outcome.message },
      };
  }
}
