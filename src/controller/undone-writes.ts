import { pauseMs } from '../decide/eviction/back-off.ts';
import type { Clock } from '../host/clock.ts';

/** What somebody else takes back again and again: two programs must not write in turns without a pause. */
export interface UndoneWrites {
  /** How long to wait before it is written again, in milliseconds: no time at the first time, then a pause that doubles. */
  restMs(key: string): number;
  /** Notes that it was written again; returns how often in a row. */
  rewritten(key: string): number;
  /** Forgets what is not to be written any more. */
  forget(key: string): void;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 5 * 60_000;

/** Remembers it for the loop of one kind of object, by keys. */
export function createUndoneWrites(clock: Pick<Clock, 'monotonic'>): UndoneWrites {
  const undone = new Map<string, { readonly count: number; readonly lastAt: number }>();
  return {
    restMs: (key) => {
      const { count, lastAt } = undone.get(key) ?? { count: 0, lastAt: 0 };
      return count === 0 ? 0 : lastAt + pauseMs(FIRST_PAUSE_MS, count - 1, LONGEST_PAUSE_MS) - clock.monotonic();
    },
    rewritten: (key) => {
      const count = (undone.get(key)?.count ?? 0) + 1;
      undone.set(key, { count, lastAt: clock.monotonic() });
      return count;
    },
    forget: (key) => {
      undone.delete(key);
    },
  };
}
