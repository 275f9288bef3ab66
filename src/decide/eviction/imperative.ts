import type { EvictionRequest } from '../../api/eviction-request.ts';
import {
  CONTROLLER_TAKE_OVER,
  EVICT_ONLY_ANNOTATION,
  EVICT_POLICY_ANNOTATION,
  EVICT_WANTED_ANNOTATION,
  EVICTION_IN_PROGRESS_ANNOTATION,
  IMPERATIVE_INTERCEPTOR,
} from '../../api/names.ts';
import type { Pod, PodDisruptionBudget } from '../../api/pod.ts';
import { allowedBy, budgetCovers } from '../disruption-budget/covers.ts';
import type { EvictionOutcome } from './api-answer.ts';
import { MAX_RETRY_MS, refusedPauseMs } from './back-off.ts';
import { HEARTBEAT_EVERY_MS, interceptorEntry, type Progress } from './heartbeat.ts';
import { endOf, graceSecOf, isReady, podTypeOf, type PodEnd } from '../pod.ts';
import { rfc3339, timeOf } from '../time.ts';
import { attemptsOf, endingMessage } from '../interceptor/message.ts';

/** How long others are trusted with an eviction, in milliseconds. */
export interface EvictionPatience {
  /** Pod Evict Policy: if the pod has not ended after this time, a take-over falls back to the Eviction API. */
  readonly takeOverMs: number;
  /** KEP-1397: if the pod has not ended after this time, a promised eviction is requested again. */
  readonly promiseMs: number;
  /** When the pod's controller is trusted no longer, in milliseconds since the epoch; absent where no deadline presses. */
  readonly trustUntil?: number | undefined;
}

/** The patience where no flag says anything else, and that of an agent which drains its own node. */
export const DEFAULT_PATIENCE = { takeOverMs: 60_000, promiseMs: 600_000 } as const satisfies EvictionPatience;

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
  /** Whether PodDisruptionBudgets refused it, so that it is worth another try where they are not asked any more. */
  readonly byBudget?: boolean;
  /** Whether another try cannot succeed before the budgets that cover the pod, or its labels, are others. */
  readonly untilChange?: boolean;
  /** How many answers in a row said nothing about the pod. */
  readonly postponed: number;
  /** Whether the pod was ready at the last attempt: a budget may let a pod go that is not (unhealthyPodEvictionPolicy). */
  readonly wasReady?: boolean;
  readonly promisedAt?: number;
  readonly acceptedAt?: number;
  /** Why budgets were not asked for an eviction that was accepted, as a sentence. */
  readonly notAsked?: string;
  /** Since when the pod is left to its controller (Pod Evict Policy). */
  readonly markedAt?: number;
}

/** What is remembered of a request without an attempt. */
export const NO_ATTEMPT: EvictionMemory = { count: 0, nextAt: 0, blockedBy: [], postponed: 0 };

/** What the imperative interceptor does next. */
type EvictionStep =
  /** Nothing but to say so, and to look again; `idle` where no work is done, so that no heartbeat is due. */
  | { readonly kind: 'wait'; readonly progress: Progress; readonly againMs: number; readonly idle?: true }
  /** Marks the pod for its controller (Pod Evict Policy). */
  | { readonly kind: 'mark'; readonly progress: Progress; readonly againMs: number }
  | { readonly kind: 'evict' };

/** An accepted eviction is not asked for again until our copy of the pod has had time to show it. */
const ACCEPTED_PAUSE_MS = 30_000;

/** The memory after the clock was set forward by `ms` milliseconds, or back where they are negative: nothing is due earlier or later. */
export function movedMemory(memory: EvictionMemory, ms: number): EvictionMemory {
  const { nextAt, promisedAt, acceptedAt, markedAt } = memory;
  return {
    ...memory,
    nextAt: nextAt === 0 ? 0 : nextAt + ms,
    ...(promisedAt === undefined ? {} : { promisedAt: promisedAt + ms }),
    ...(acceptedAt === undefined ? {} : { acceptedAt: acceptedAt + ms }),
    ...(markedAt === undefined ? {} : { markedAt: markedAt + ms }),
  };
}

/** What is known of the attempts when a process starts: the count of the interceptor's own message. */
export function rememberedAttempts(request: EvictionRequest): EvictionMemory {
  return { ...NO_ATTEMPT, count: attemptsOf(interceptorEntry(request, IMPERATIVE_INTERCEPTOR)?.message) };
}

/**
 * What is known when a process starts that sees budgets. A pod that was asked for before, and that budgets with no room keep now,
 * waits for these or for its pause: a new leader does not ask for all of them at once.
 */
export function firstMemory(
  { request, pod }: EvictionTarget,
  budgets: readonly PodDisruptionBudget[],
  now: number,
): EvictionMemory {
  const memory = rememberedAttempts(request);
  if (memory.count === 0) return memory;
  const closed = budgets.filter((budget) => allowedBy(budget) === 0 && budgetCovers(budget, pod));
  if (closed.length === 0) return memory;
  const blockedBy = closed.map(({ metadata }) => metadata.name);
  const nextAt = now + refusedPauseMs(memory.count, MAX_RETRY_MS);
  return { ...memory, nextAt, blockedBy, byBudget: true, wasReady: true };
}

/** The memory of an attempt that was blocked by budgets, without its pause where the pod is not ready any more. */
export function withoutPauseIfUnready(memory: EvictionMemory, pod: Pod): EvictionMemory {
  const isBlocked = memory.blockedBy.length > 0 && memory.wasReady === true && memory.untilChange !== true;
  return isBlocked && !isReady(pod) ? { ...memory, nextAt: 0, wasReady: false } : memory;
}

/** The memory without its pause where budgets refused the last attempt, and are not asked any more. */
export function withoutPauseIfNotAsked(memory: EvictionMemory, isNotAsked: boolean): EvictionMemory {
  return memory.byBudget === true && memory.nextAt > 0 && isNotAsked ? { ...memory, nextAt: 0 } : memory;
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

/** The end of a terminating pod, or the one that follows from an eviction that was accepted; undefined where there is none. */
export function expectedEnd(pod: Pod, { acceptedAt }: EvictionMemory): PodEnd | undefined {
  if (acceptedAt === undefined) return endOf(pod);
  return endOf(pod) ?? { toldAt: acceptedAt, endsAt: acceptedAt + graceSecOf(pod) * 1000 };
}

/**
 * Since when the pod is left to its controller: as this process remembers it or, after a restart, as the interceptor's own
 * estimate says; where it has none, the time is over when the interceptor has had it once. Undefined for a pod without the
 * mark. An estimate of a clock that is ahead counts from `now`, so that it must be remembered.
 */
export function markedSince(
  { request, pod }: EvictionTarget,
  { markedAt }: EvictionMemory,
  takeOverMs: number,
  now: number,
): number | undefined {
  if (markedAt !== undefined || !isMarked(pod)) return markedAt;
  const { expectedFinishTime, startTime } = interceptorEntry(request, IMPERATIVE_INTERCEPTOR) ?? {};
  const until = timeOf(expectedFinishTime) ?? (timeOf(startTime) ?? now) + takeOverMs;
  return Math.min(until - takeOverMs, now);
}

/** The one step after which a pod can be left to its controller (Pod Evict Policy, "Kubernetes Evict Pod"). */
function takeOver(
  target: EvictionTarget,
  memory: EvictionMemory,
  patience: EvictionPatience,
  now: number,
): EvictionStep | undefined {
  const { pod } = target;
  if (!isTakenOver(pod)) return undefined;
  const own = (markedSince(target, memory, patience.takeOverMs, now) ?? now) + patience.takeOverMs;
  const until = Math.min(own, patience.trustUntil ?? Infinity);
  if (now >= until) return undefined;
  const message = `Pod ${pod.metadata.name} is left to its controller (ControllerTakeOver) until ${rfc3339(until)}.`;
  const progress: Progress = { message, expectedFinishAt: until };
  return { kind: isMarked(pod) ? 'wait' : 'mark', progress, againMs: until - now };
}

/**
 * An eviction that others carry out (KEP-1397). A pod that has both annotations is not asked for again while it has them;
 * a promise without the second annotation is believed until its time is over, or that of the pod's interceptors before a deadline.
 */
function inBackground(
  pod: Pod,
  { promisedAt }: EvictionMemory,
  { promiseMs, trustUntil = Infinity }: EvictionPatience,
  now: number,
): EvictionStep | undefined {
  const what = `The eviction of pod ${pod.metadata.name} in the background`;
  if (isInBackground(pod) && now < trustUntil) {
    const message = `${what} is in progress; it is not asked for again while the pod has the annotation ${EVICTION_IN_PROGRESS_ANNOTATION}.`;
    return { kind: 'wait', progress: { message }, againMs: Math.min(trustUntil - now, HEARTBEAT_EVERY_MS) };
  }
  const longest = (promisedAt ?? -Infinity) + promiseMs;
  const until = (promisedAt ?? Infinity) < trustUntil ? Math.min(longest, trustUntil) : longest;
  if (now >= until) return undefined;
  const message = `${what} is promised; it is asked for again at ${rfc3339(until)}.`;
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
    const progress = { message: endingMessage(name, memory.notAsked), expectedFinishAt: end.endsAt };
    return { kind: 'wait', progress, againMs: HEARTBEAT_EVERY_MS };
  }
  const podType = podTypeOf(pod);
  if (podType !== 'Default') {
    const message = `API-initiated eviction of ${podType} pods is not supported; waiting for ${name} to end by other means.`;
    return { kind: 'wait', progress: { message }, againMs: HEARTBEAT_EVERY_MS, idle: true };
  }
  const others = takeOver({ request, pod }, memory, patience, now) ?? inBackground(pod, memory, patience, now);
  if (others !== undefined) return others;
  if (memory.acceptedAt !== undefined && now < memory.nextAt) {
    const expectedFinishAt = memory.acceptedAt + graceSecOf(pod) * 1000;
    return {
      kind: 'wait',
      progress: { message: endingMessage(name, memory.notAsked), expectedFinishAt },
      againMs: memory.nextAt - now,
    };
  }
  if (now < memory.nextAt) {
    const message = interceptorEntry(request, IMPERATIVE_INTERCEPTOR)?.message ?? '';
    return { kind: 'wait', progress: { message }, againMs: memory.nextAt - now, idle: true };
  }
  return { kind: 'evict' };
}

/** What is remembered after an attempt at `memory`, and what is said about it; `now` is in milliseconds since the epoch. */
export function afterAttempt(
  pod: Pod,
  memory: EvictionMemory,
  outcome: EvictionOutcome,
  now: number,
): { readonly memory: EvictionMemory; readonly progress?: Progress } {
  const { name } = pod.metadata;
  const { count: before, markedAt } = memory;
  const kept = markedAt === undefined ? NO_ATTEMPT : { ...NO_ATTEMPT, markedAt };
  const count = before + 1;
  switch (outcome.kind) {
    case 'gone':
      return { memory: { ...kept, count, nextAt: now + ACCEPTED_PAUSE_MS } };
    case 'accepted':
      return {
        memory: { ...kept, count, nextAt: now + ACCEPTED_PAUSE_MS, acceptedAt: now },
        progress: { message: endingMessage(name), expectedFinishAt: now + graceSecOf(pod) * 1000 },
      };
    case 'budget-not-asked':
      return {
        memory: { ...kept, count, nextAt: now + ACCEPTED_PAUSE_MS, acceptedAt: now, notAsked: outcome.why },
        progress: { message: endingMessage(name, outcome.why), expectedFinishAt: now + graceSecOf(pod) * 1000 },
      };
    case 'promised':
      // A promise is no failure: it ends the row of failures, also for the message, from which the count is read back.
      return {
        memory: { ...kept, promisedAt: now },
        progress: { message: `The eviction of pod ${name} in the background is promised: ${outcome.message}` },
      };
    case 'failed':
    case 'postponed':
      return {
        memory: { ...kept, count: before, nextAt: now + outcome.retryAfterMs, postponed: memory.postponed + 1 },
        progress: { message: outcome.message },
      };
    case 'blocked':
      return {
        memory: {
          ...kept,
          count,
          nextAt: now + outcome.retryAfterMs,
          blockedBy: outcome.budgets,
          byBudget: outcome.byBudget,
          untilChange: outcome.untilChange,
          wasReady: isReady(pod),
        },
        progress: { message: outcome.message },
      };
  }
}
