/** The first and the last moment that metav1.Time and the API server's `date-time` can write: years 0001 to 9999 UTC. */
const FIRST_MS = Date.UTC(2000, 0, 1) - 63_082_281_600_000;
const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

function within(ms: number): number {
  return Number.isNaN(ms) ? FIRST_MS : Math.min(LAST_MS, Math.max(FIRST_MS, ms));
}

/**
 * A time as metav1.Time writes it: RFC 3339, whole seconds; `ms` since the epoch. What lies outside of the years 0001 to
 * 9999 is written as the nearest time within, and what is no number as the first, which Kubernetes takes for no time.
 */
export function rfc3339(ms: number): string {
  return new Date(within(ms)).toISOString().replace(/\.\d{3}Z$/, 'Z');
}

/** A time as RFC 3339 with its milliseconds, where it has any: of a short notice a second is much. As `rfc3339` else. */
export function preciseRfc3339(ms: number): string {
  return new Date(within(ms)).toISOString().replace('.000Z', 'Z');
}

/**
 * A time that an object has, in milliseconds since the epoch, within the years that `rfc3339` can write; undefined where
 * it has none, or one that cannot be read.
 */
export function timeOf(text: string | undefined): number | undefined {
  const ms = Date.parse(text ?? '');
  return Number.isNaN(ms) ? undefined : within(ms);
}
