/** Durations as people write and read them, in flags, configuration and tables: numbers with units, the largest first, as Go writes them. */

/** What to say of a text that is no duration, as the end of a sentence. */
export const DURATION_HINT = 'write numbers and units, such as 90s, 20m or 1h30m';

const DURATION = /^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?$/;

/**
 * A duration in milliseconds, such as `90s`, `1h30m`, `500ms` or `0`; undefined where the text is none, or longer than
 * a number of milliseconds can say exactly.
 */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0;
  const match = DURATION.exec(text);
  if (text === '' || match === null) return undefined;
  const [hours = 0, minutes = 0, seconds = 0, ms = 0] = match.slice(1).map((part) => Number(part ?? 0));
  const total = ((hours * 60 + minutes) * 60 + seconds) * 1000 + ms;
  return Number.isSafeInteger(total) ? total : undefined;
}

/** A duration for people, in at most two units: 5s, 2m10s, 3h5m. `parseDuration` reads it. */
export function formatSpan(ms: number): string {
  const sec = Math.max(0, Math.round(ms / 1000));
  if (sec < 60) return `${sec}s`;
  if (sec < 3600) return `${Math.floor(sec / 60)}m${sec % 60}s`;
  return `${Math.floor(sec / 3600)}h${Math.floor((sec % 3600) / 60)}m`;
}

const DAY_MS = 86_400_000;

/** How long ago something was, for people: as `formatSpan`, and from two days on in days, such as 60d. */
export function formatAge(ms: number): string {
  return ms < 2 * DAY_MS ? formatSpan(ms) : `${Math.floor(ms / DAY_MS)}d`;
}
