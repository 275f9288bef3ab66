import type { Notice } from '../decide/notice/notices.ts';

/** One place of a provider where notices appear. */
export interface NoticeSource {
  /** For the log, such as "aws spot/instance-action". */
  readonly name: string;
  /** The pause between two looks, in milliseconds. */
  readonly everyMs: number;
  /** All notices there are now. Throws METADATA_FAILED where the answer says nothing that can be believed. */
  read(signal: AbortSignal): Promise<readonly Notice[]>;
  /** Tells the provider that the machine is ready for the event; only where that harms nobody else. */
  acknowledge?(id: string, signal: AbortSignal): Promise<void>;
}
