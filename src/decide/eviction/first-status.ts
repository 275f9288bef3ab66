/**
 * The first status of an EvictionRequest names its interceptors. Where the Eviction API is the only one, it acts before that
 * is written, and of a pod that is gone soon the first status is also the last one: a write less for each pod (ADR 24).
 */
import type { EvictionRequest, EvictionRequestStatus } from '../../api/eviction-request.ts';
import { IMPERATIVE_INTERCEPTOR, MAINTENANCE_REQUESTER } from '../../api/names.ts';
import { isRequestedBy } from './requester.ts';
import { type EvictionDecision, isFinished, isMadeByDrain } from './request.ts';

/** A pod that takes longer to end shows the interceptors of its request after this time, in milliseconds. */
const FIRST_STATUS_WAITS_MS = 1_000;
/** So does a pod whose eviction has not begun after this time, because many pods leave at once. */
export const FIRST_STATUS_WAITS_AT_MOST_MS = 10_000;
/** Where more first statuses wait, the API server is busy and pods need longer to end: both times are longer in proportion. */
const WAITING_AT_ONCE = 20;
const MOST_ENDING_MS = 30_000;
const MOST_MS = 60_000;

/** A first status that waits. Times are of one monotonic clock. */
export interface WaitingSince {
  /** When it was decided. */
  readonly since: number;
  /** When the pod was first seen to end; undefined where it was not. */
  readonly endingSince?: number | undefined;
}

/** For how long the first status may still wait, in milliseconds, where so many wait together. */
export function firstStatusLeftMs(
  { since, endingSince = Infinity }: WaitingSince,
  waiting: number,
  now: number,
): number {
  const times = Math.max(1, waiting / WAITING_AT_ONCE);
  const ending = endingSince + Math.min(FIRST_STATUS_WAITS_MS * times, MOST_ENDING_MS);
  return Math.min(ending, since + Math.min(FIRST_STATUS_WAITS_AT_MOST_MS * times, MOST_MS)) - now;
}

/**
 * Whether the first status of the request, as it was decided, may wait: nobody but the Eviction API has to read in it whose
 * turn it is, and a drain asks, which goes by its own copies. A status that anybody has written already is completed at once.
 */
export function mayFirstStatusWait(request: EvictionRequest, { status, events }: EvictionDecision): boolean {
  const names = status?.targetInterceptors?.map(({ name }) => name) ?? [];
  const isEvictionApiAlone = names.length === 1 && names[0] === IMPERATIVE_INTERCEPTOR;
  const isOurs = isMadeByDrain(request) && isRequestedBy(request, MAINTENANCE_REQUESTER);
  return isEvictionApiAlone && isOurs && request.status === undefined && events.length === 0;
}

/** A status with the first status in it; conditions that others have written meanwhile stay. */
export function completedStatus(
  status: EvictionRequestStatus | undefined,
  first: EvictionRequestStatus,
): EvictionRequestStatus {
  const own = first.conditions ?? [];
  const others = (status?.conditions ?? []).filter(({ type }) => !own.some((each) => each.type === type));
  return { ...status, ...first, conditions: [...others, ...own] };
}

/** Whether the decision ends the request. */
export function endsRequest(request: EvictionRequest, { status }: EvictionDecision): boolean {
  return status !== undefined && isFinished({ ...request, status });
}
