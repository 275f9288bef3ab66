import { parseNoticeTime } from '../decide/notice/time.ts';
import type { Notice } from '../decide/notice/notices.ts';
import { metadataError } from './metadata.ts';

const MAX_QUOTE = 60;

/** The part of a notice that its time makes, however it is written; see parseNoticeTime. */
export function timed(text: string, offset?: string): Pick<Notice, 'notBefore' | 'unreadableTime'> {
  const at = parseNoticeTime(text, offset);
  return at === undefined ? { unreadableTime: text.slice(0, MAX_QUOTE) } : { notBefore: at };
}

/**
 * The same for a place that has a time and nothing else: there, what does not even look like one is no announcement, but a
 * broken service. Undefined for nothing to report. Throws METADATA_FAILED.
 */
export function bareTime(
  text: string | undefined,
  path: string,
  offset?: string,
): ReturnType<typeof timed> | undefined {
  if (text === undefined || text === '') return undefined;
  if (!/^[\d :.,/+TZ-]{4,60}$/.test(text)) throw metadataError(`${path}: not a time: ${text.slice(0, MAX_QUOTE)}`);
  return timed(text, offset);
}
