import { metadataError } from './metadata.ts';
import { parseNoticeTime } from '../decide/time.ts';
import type { Notice } from '../decide/notice/notices.ts';

const MAX_QUOTE = 60;

/** The members of a notice that come from its time, in any format of `parseNoticeTime`. */
export function timed(text: string, offset?: string): Pick<Notice, 'notBefore' | 'unreadableTime'> {
  const at = parseNoticeTime(text, offset);
  return at === undefined ? { unreadableTime: text.slice(0, MAX_QUOTE) } : { notBefore: at };
}

/**
 * The same for a resource that contains only a time. Undefined if it is empty. Throws METADATA_FAILED for text that does not
 * look like a time: that is a broken service, not a notice.
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

/** One resource of a provider in which notices appear. */
export interface NoticeSource {
  /** For the log, such as "aws spot/instance-action". */
  readonly name: string;
  /** The pause between two reads, in milliseconds. */
  readonly everyMs: number;
  /** Whether the service answers only when something has changed, by a key that is always there. */
  readonly waitsForChange?: true;
  /** Reads all present notices. Throws METADATA_FAILED if the answer is missing or invalid. */
  read(signal: AbortSignal): Promise<readonly Notice[]>;
}
