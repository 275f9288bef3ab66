import { DURATION_HINT, parseDuration } from '../../decide/duration.ts';
import { NodemaintError } from '../../errors.ts';

/** An error of the person who wrote the command line, which ends the program with the exit code 2. */
export function usage(message: string): NodemaintError {
  return new NodemaintError('USAGE', message);
}

/** The duration of a flag, such as 90s, 20m or 1h30m, in milliseconds. Throws USAGE. */
export function parseTime(text: string, flag: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw usage(`${flag} ${text}: ${DURATION_HINT}`);
  return ms;
}

/** The duration of --timeout in milliseconds; undefined for 0, which waits without limit. Throws USAGE. */
export function parseTimeout(text: string): number | undefined {
  const ms = parseTime(text, '--timeout');
  return ms === 0 ? undefined : ms;
}

/** The duration of --deadline in milliseconds, at least 1. Throws USAGE. */
export function parseDeadline(text: string): number {
  const ms = parseTime(text, '--deadline');
  if (ms === 0) throw usage(`--deadline ${text}: write a time that is longer than 0, such as 90s or 20m`);
  return ms;
}

/** The longest time that a timer of Node.js can wait: one day more would end it at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** A signal that is aborted after `ms` milliseconds; never where that is undefined or longer than 24 days. */
export function timeLimit(ms: number | undefined): AbortSignal {
  return ms === undefined || ms > LONGEST_TIMER_MS ? new AbortController().signal : AbortSignal.timeout(ms);
}
