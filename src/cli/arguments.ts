import { NodemaintError } from '../errors.ts';

/** The time of a flag, such as 90s, 20m or 1h30m, in milliseconds; undefined for 0, which is for ever. Throws USAGE. */
export function parseTimeout(text: string, flag = '--timeout'): number | undefined {
  const match = text === '0' ? ['', '0', '0', '0'] : DURATION.exec(text);
  if (text === '' || match === null) throw usage(`${flag} ${text}: write numbers and units, such as 90s, 20m or 1h30m`);
  const [hours = 0, minutes = 0, seconds = 0] = match.slice(1).map((part) => Number(part ?? 0));
  const ms = ((hours * 60 + minutes) * 60 + seconds) * 1000;
  return ms === 0 ? undefined : ms;
}

export function usage(message: string): NodemaintError {
  return new NodemaintError('USAGE', message);
}
export const DURATION = /^(?:(\d{1,4})h)?(?:(\d{1,6})m)?(?:(\d{1,8})s)?$/;

/** A deadline as people write it, such as 90s, in milliseconds. Throws USAGE. */
export function parseDeadline(text: string): number {
  const ms = parseTimeout(text, '--deadline');
  if (ms !== undefined && ms > 0) return ms;
  throw new NodemaintError('USAGE', `--deadline ${text}: write a time such as 90s or 20m`);
}
