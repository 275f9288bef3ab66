import type { EvictionRequest, InterceptorStatus } from '../../api/eviction-request.ts';
import { CLOCK_SKEW_MS } from './trusted-times.ts';
import type { PodEnd } from '../pod.ts';
import { rfc3339, timeOf } from '../time.ts';

/** KEP-4563, InterceptorStatus: "There must be at least 60 second increments". */
const MIN_HEARTBEAT_MS = 60_000;
/** KEP-4563, "Interceptor": an update every 3 minutes is enough. */
export const HEARTBEAT_EVERY_MS = 3 * 60_000;

/** An interceptor that has not begun to report may leave the end of a pod unreported for this time. */
const QUIET_END_MS = 60_000;
/** A kubelet takes this time after the grace period. It then deletes the pod once more, with a grace period of 0. */
const KUBELET_MS = 15_000;

/** What an interceptor has to say about its work. */
export interface Progress {
  readonly message: string;
  /** Milliseconds since the epoch; absent where no estimate can be made. */
  readonly expectedFinishAt?: number;
  readonly completed?: boolean;
}

/** The interceptor's own entry in a request's status. */
export function interceptorEntry(request: EvictionRequest, name: string): InterceptorStatus | undefined {
  return request.status?.interceptors?.find((entry) => entry.name === name);
}

/**
 * The status entry to write for the active interceptor `name`, or undefined where nothing new is to be said: the first
 * heartbeat sets the start time, later ones keep their distance, an estimate that has passed is left out.
 */
export function decideHeartbeat(
  request: EvictionRequest,
  name: string,
  progress: Progress,
  now: number,
): InterceptorStatus | undefined {
  const old = interceptorEntry(request, name);
  if (old?.completionTime !== undefined) return undefined;
  const heardAt = timeOf(old?.heartbeatTime);
  // A time to come was written by a clock that went wrong, and must not keep the interceptor silent until then.
  const sinceMs = heardAt === undefined || heardAt > now + CLOCK_SKEW_MS ? Infinity : now - heardAt;
  const due = sinceMs >= HEARTBEAT_EVERY_MS || (old?.message !== progress.message && sinceMs >= MIN_HEARTBEAT_MS);
  if (!due && progress.completed !== true && old?.message === progress.message) return undefined;
  const beat = sinceMs >= MIN_HEARTBEAT_MS ? rfc3339(now) : (old?.heartbeatTime ?? rfc3339(now));
  const expected = progress.expectedFinishAt;
  return {
    name,
    startTime: old?.startTime ?? beat,
    heartbeatTime: beat,
    message: progress.message,
    ...(expected !== undefined && expected > now ? { expectedFinishTime: rfc3339(expected) } : {}),
    ...(progress.completed === true ? { completionTime: rfc3339(now) } : {}),
  };
}

/**
 * For how many milliseconds the interceptor `name` need not report that a pod is ending, because the pod itself shows it: for
 * its grace period and some time of its kubelet, and for a minute at most (KEP-4563, "Interceptor": a report every 3 minutes is enough). 0 where nothing
 * ends, and where an earlier report says something else, which would stay there. `now` is in milliseconds since the epoch.
 */
export function quietMs(request: EvictionRequest, name: string, end: PodEnd | undefined, now: number): number {
  const said = interceptorEntry(request, name)?.message ?? '';
  if (end === undefined || said !== '') return 0;
  return Math.max(0, Math.min(end.endsAt + KUBELET_MS, end.toldAt + QUIET_END_MS) - now);
}
