/** How long is waited before the Eviction API is asked for the same pod again, or something is written again that others undo. */

/** The pause after the first attempt that was refused, or that failed. */
export const FIRST_RETRY_MS = 2_000;
/** KEP-4563, "Eviction": exponential backoff with a maximum of about 15 minutes. */
export const MAX_RETRY_MS = 15 * 60_000;
/** kubectl drain waits as long for the deletion of a terminating namespace to reach the pod. */
export const TERMINATING_RETRY_MS = 5_000;
/** Where the API server asks for a pause without saying how long. */
export const BUSY_RETRY_MS = 1_000;
/** An answer that says nothing about the pod is waited for no longer than this, unless the API server asks for more. */
export const MAX_POSTPONED_MS = 60_000;
/**
 * An agent may not read PodDisruptionBudgets, so nothing tells it that one has room again: it asks at least this often. The nodes
 * of a whole cluster may do so at once.
 */
export const AGENT_BUDGET_RETRY_MS = 60_000;
/** Of pods of a group, no budget that changes ends the pause. */
export const GROUPED_BUDGET_RETRY_MS = 30_000;

/** The pause before the next attempt: the given one, then twice as long each time, as long as the answer asks for at least. */
export function pauseMs(firstMs: number, before: number, longestMs: number, askedMs = 0): number {
  return Math.max(Math.min(firstMs * 2 ** before, longestMs), Math.min(askedMs, MAX_RETRY_MS));
}

/** The pause after a refused attempt, of which 1 is the first, in milliseconds; the answer may ask for a longer one. */
export function refusedPauseMs(attempt: number, longestMs: number, askedMs?: number): number {
  return pauseMs(FIRST_RETRY_MS, attempt - 1, longestMs, askedMs);
}

const FIRST_UNDONE_MS = 1_000;
const LONGEST_UNDONE_MS = 5 * 60_000;

/** That somebody else takes back again and again what this program writes: the two must not write in turns without a pause. */
export interface Undone {
  readonly count: number;
  /** When it was written again, in milliseconds of a monotonic clock. */
  readonly lastAt: number;
}

/** How long to wait before it is written again, in milliseconds: no time at the first time, then a pause that doubles. */
export function undoneRestMs(undone: Undone | undefined, now: number): number {
  return undone === undefined ? 0 : undone.lastAt + pauseMs(FIRST_UNDONE_MS, undone.count - 1, LONGEST_UNDONE_MS) - now;
}

/** What is known after it was written again `now`. */
export function undoneAgain(undone: Undone | undefined, now: number): Undone {
  return { count: (undone?.count ?? 0) + 1, lastAt: now };
}
