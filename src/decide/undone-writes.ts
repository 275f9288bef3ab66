import { pauseMs } from './eviction/back-off.ts';

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 5 * 60_000;

/** That somebody else takes back again and again what this program writes: the two must not write in turns without a pause. */
export interface Undone {
  readonly count: number;
  /** When it was written again, in milliseconds of a monotonic clock. */
  readonly lastAt: number;
}

/** How long to wait before it is written again, in milliseconds: no time at the first time, then a pause that doubles. */
export function undoneRestMs(undone: Undone | undefined, now: number): number {
  return undone === undefined ? 0 : undone.lastAt + pauseMs(FIRST_PAUSE_MS, undone.count - 1, LONGEST_PAUSE_MS) - now;
}

/** What is known after it was written again `now`. */
export function undoneAgain(undone: Undone | undefined, now: number): Undone {
  return { count: (undone?.count ?? 0) + 1, lastAt: now };
}
