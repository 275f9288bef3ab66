import { pauseMs } from '../decide/eviction/back-off.ts';
import type { Clock } from '../host/clock.ts';

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 5 * 60_000;

export type UndoneWrites = ReturnType<typeof createUndoneWrites>;

/**
 * Remembers what somebody else takes back again and again, for the loop of one kind of object, by keys: two programs must not
 * write in turns without a pause.
 */
export function createUndoneWrites(clock: Pick<Clock, 'monotonic'>) {
  const undone = new Map<string, { readonly count: number; readonly lastAt: number }>();
  return {
    /** How long to wait before it is written again, in milliseconds: no time at the first time, then a pause that doubles. */
    restMs: (key: string): number => {
      const { count, lastAt } = undone.get(key) ?? { count: 0, lastAt: 0 };
      return count === 0 ? 0 : lastAt + pauseMs(FIRST_PAUSE_MS, count - 1, LONGEST_PAUSE_MS) - clock.monotonic();
    },
    /** Notes that it was written again. */
    rewritten: (key: string): void => {
      const count = (undone.get(key)?.count ?? 0) + 1;
      undone.set(key, { count, lastAt: clock.monotonic() });
    },
    /** Forgets what is not to be written any more. */
    forget: (key: string): void => {
      undone.delete(key);
    },
  };
}
