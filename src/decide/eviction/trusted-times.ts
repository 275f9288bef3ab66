import { CLOCK_SKEW_MS, type InterceptorStatus } from '../../api/eviction-request.ts';
import { timeOf } from '../time.ts';

/**
 * The entry without times that lie more than 10 s after `now` (milliseconds since the epoch), which nobody can have
 * written in good faith; expectedFinishTime is meant to lie in the future and stays. Admission refuses such times
 * (eviction-times.ts), but only while its webhook is there.
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
