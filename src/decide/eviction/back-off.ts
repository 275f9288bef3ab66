/** How long the imperative interceptor waits before it asks the Eviction API for the same pod again. */

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

/** The pause before the next attempt: the given one, then twice as long each time, as long as the answer asks for at least. */
export function pauseMs(firstMs: number, before: number, longestMs: number, askedMs = 0): number {
  return Math.max(Math.min(firstMs * 2 ** before, longestMs), Math.min(askedMs, MAX_RETRY_MS));
}

/** The pause after a refused attempt, of which 1 is the first, in milliseconds; the answer may ask for a longer one. */
export function refusedPauseMs(attempt: number, longestMs: number, askedMs?: number): number {
  return pauseMs(FIRST_RETRY_MS, attempt - 1, longestMs, askedMs);
}
