import { timeOf } from './time.ts';

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
