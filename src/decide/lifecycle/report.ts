import { MAX_RESPONDER_MESSAGE, type ResponderStatus } from '../../api/lifecycle.ts';
import { HEARTBEAT_EVERY_MS, type Progress } from '../eviction/heartbeat.ts';
import { rfc3339, timeOf } from '../time.ts';

/** API, ResponderStatus: heartbeats should be at least 20 seconds apart. */
const MIN_HEARTBEAT_MS = 20_000;
/** The API takes no estimate that is further away than ten years. */
const MAX_ESTIMATE_MS = 9 * 365 * 24 * 3600 * 1000;

/** The text with at most so many characters as the API takes, whole code points. */
function bounded(text: string): string {
  const points = Array.from(text);
  return points.length <= MAX_RESPONDER_MESSAGE ? text : `${points.slice(0, MAX_RESPONDER_MESSAGE - 1).join('')}…`;
}

/**
 * The entry that an active responder has to write, or undefined where nothing new is to be said. It has every field that the
 * responder owns, because a server-side apply removes those that are left out; `startTime` is the controller's. No time is
 * before those that are there, which the API refuses. `now` is in milliseconds since the epoch by the API server's clock.
 */
export function decideReport(old: ResponderStatus, progress: Progress, now: number): ResponderStatus | undefined {
  if (old.completionTime !== undefined) return undefined;
  const message = bounded(progress.message);
  const heardAt = timeOf(old.heartbeatTime);
  const sinceMs = heardAt === undefined ? Infinity : now - heardAt;
  const isNews = message !== (old.message ?? '');
  if (!isNews && sinceMs < HEARTBEAT_EVERY_MS && progress.completed !== true) return undefined;
  const present = Math.max(now, timeOf(old.startTime) ?? 0, heardAt ?? 0);
  const isBeat = progress.completed === true || sinceMs >= MIN_HEARTBEAT_MS || old.heartbeatTime === undefined;
  const expected = progress.completed === true ? present : progress.expectedFinishAt;
  return {
    name: old.name,
    heartbeatTime: isBeat ? rfc3339(present) : (old.heartbeatTime ?? rfc3339(present)),
    message,
    ...(expected === undefined || expected < present
      ? {}
      : { expectedCompletionTime: rfc3339(Math.min(expected, present + MAX_ESTIMATE_MS)) }),
    ...(progress.completed === true ? { completionTime: rfc3339(present) } : {}),
  };
}
