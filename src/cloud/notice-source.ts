import type { Notice } from '../decide/notice/notices.ts';

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
