import type { Notice } from '../decide/notice/notices.ts';
import type { NoticeSource } from './notice-source.ts';

/**
 * The source with notices that are gone only when two answers in a row lack them: a metadata service that has just been
 * started may say once that there is nothing to report, and that would call a drain off.
 */
export function confirmed(source: NoticeSource): NoticeSource {
  let told: readonly Notice[] = [];
  /** The notices that the last answer lacked. */
  let missing = new Set<string>();
  return {
    ...source,
    read: async (signal) => {
      const found = await source.read(signal);
      const gone = told.filter(({ id }) => !found.some((notice) => notice.id === id));
      const doubtful = gone.filter(({ id }) => !missing.has(id));
      missing = new Set(doubtful.map(({ id }) => id));
      told = [...found, ...doubtful];
      return told;
    },
  };
}
