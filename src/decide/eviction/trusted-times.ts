import type { InterceptorStatus } from '../../api/eviction-request.ts';
import { timeOf } from '../time.ts';

/** KEP-4563: the largest difference between the clocks of two actors that is tolerated, in milliseconds. */
export const CLOCK_SKEW_MS = 10_000;

/**
 * The entry without times that lie more than 10 s after `now` (milliseconds since the epoch), which nobody can have
 * written in good faith; expectedFinishTime is meant to lie in the future and stays. Admission refuses such times
 * (admission-times.ts), but only while its webhook is there.
 */
export function trustedEntry(entry: InterceptorStatus, now: number): InterceptorStatus {
  const { startTime, heartbeatTime, completionTime, ...rest } = entry;
  const isCredible = (time: string | undefined): time is string => (timeOf(time) ?? Infinity) <= now + CLOCK_SKEW_MS;
  return {
    ...rest,
    ...(isCredible(startTime) ? { startTime } : {}),
    ...(isCredible(heartbeatTime) ? { heartbeatTime } : {}),
    ...(isCredible(completionTime) ? { completionTime } : {}),
  };
}

/** A clock that is ahead by more than this is not waited for: what it has written is no sign of life. */
const MAX_AHEAD_MS = 5 * 60_000;

/**
 * When the next of the entry's times becomes credible that are not yet so at `now`, both in milliseconds since the epoch;
 * undefined where none does soon. They were written by a clock that is some seconds or minutes ahead.
 */
export function credibleAt({ heartbeatTime, completionTime }: InterceptorStatus, now: number): number | undefined {
  const ahead = [heartbeatTime, completionTime].flatMap((time) => {
    const at = (timeOf(time) ?? -Infinity) - CLOCK_SKEW_MS;
    return at > now && at <= now + MAX_AHEAD_MS ? [at] : [];
  });
  return ahead.length === 0 ? undefined : Math.min(...ahead);
}
