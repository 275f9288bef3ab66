import { formatSpan } from './duration.ts';

/** The first and the last time that metav1.Time and the API server's `date-time` can write: years 0001 to 9999 UTC. */
const FIRST_MS = Date.UTC(2000, 0, 1) - 63_082_281_600_000;
const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

function within(ms: number): number {
  return Number.isNaN(ms) ? FIRST_MS : Math.min(LAST_MS, Math.max(FIRST_MS, ms));
}

/**
 * Formats a time as metav1.Time does: RFC 3339, whole seconds; `ms` since the epoch. A time outside of the years 0001 to 9999
 * becomes the nearest time within; NaN becomes the first one, which Kubernetes treats as no time.
 */
export function rfc3339(ms: number): string {
  return new Date(within(ms)).toISOString().replace(/\.\d{3}Z$/, 'Z');
}

/** As `rfc3339`, but with milliseconds if there are any: for a short notice a second matters. */
export function preciseRfc3339(ms: number): string {
  return new Date(within(ms)).toISOString().replace('.000Z', 'Z');
}

/** A deadline at `at`, in milliseconds since the epoch, as part of a sentence that is not written anew while time passes. */
export function deadlineAt(at: number, isOver = false): string {
  return `deadline ${rfc3339(at)}${isOver ? ' has passed' : ''}`;
}

/** How far away a deadline is at `now`, where that is drawn again and again: "in 54s", or "passed 20s ago". */
export function deadlineIn(at: number, now: number): string {
  return at > now ? `in ${formatSpan(at - now)}` : `passed ${formatSpan(now - at)} ago`;
}

/**
 * Parses a time of an API object to milliseconds since the epoch, within the years that `rfc3339` can write; undefined if it
 * is absent or not a time.
 */
export function timeOf(text: string | undefined): number | undefined {
  const ms = Date.parse(text ?? '');
  return Number.isNaN(ms) ? undefined : within(ms);
}
