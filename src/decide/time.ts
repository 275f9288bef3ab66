/** A time as metav1.Time writes it: RFC 3339, whole seconds; `ms` since the epoch. */
export function rfc3339(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d{3}Z$/, 'Z');
}

/** A time as RFC 3339 with its milliseconds, where it has any: of a short notice a second is much. */
export function preciseRfc3339(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z');
}
