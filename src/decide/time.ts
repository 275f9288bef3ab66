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

const ISO = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/;
/** An HTTP date (RFC 9110, 5.6.7), and the same without the day of the week, as EC2 writes it. */
const HTTP_DATE = /^(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), )?\d{1,2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const LOCAL = /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2})$/;

/**
 * A time as one of the clouds writes it, in milliseconds since the epoch: RFC 3339, an HTTP date, or, only where `offset`
 * such as "+08:00" says for which zone, "2018-08-18 12:05:33". Undefined for everything else: a time is never guessed.
 */
export function parseNoticeTime(text: string, offset?: string): number | undefined {
  const local = offset === undefined ? null : LOCAL.exec(text);
  const known = ISO.test(text) || HTTP_DATE.test(text);
  if (local === null && !known) return undefined;
  return timeOf(local === null ? text : `${local[1]}T${local[2]}${offset}`);
}
