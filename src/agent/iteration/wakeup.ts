import type { Clock } from '../../host/clock.ts';

/** Lets events of any kind wake the one loop; an event that comes while it works is not lost. */
export interface Wakeup {
  readonly notify: () => void;
  /**
   * Waits until woken or `ms` milliseconds have passed; returns early where it was woken since the last wait. A few events
   * wake it at once; of many that follow one another it is woken for all of them together, four times a second, so that
   * nobody who makes many of them keeps the loop busy.
   */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

/** In this time the loop may be woken once by events, and so many times ahead of that: a shutdown begins with some ten of them. */
const EVERY_MS = 250;
const AHEAD = 12;

export function createWakeup(clock: Pick<Clock, 'sleep' | 'monotonic'>): Wakeup {
  let pending = false;
  let current: AbortController | undefined;
  /** How many times events may wake the loop now. */
  let left = AHEAD;
  let countedAt = clock.monotonic();
  const count = (): void => {
    const now = clock.monotonic();
    left = Math.min(AHEAD, left + (now - countedAt) / EVERY_MS);
    countedAt = now;
  };
  return {
    notify: () => {
      pending = true;
      current?.abort();
    },
    wait: async (ms, signal) => {
      if (!pending) {
        current = new AbortController();
        await clock.sleep(ms, AbortSignal.any([signal, current.signal])).catch(() => undefined);
        current = undefined;
      }
      count();
      if (pending && left < 1) {
        await clock.sleep(Math.min(ms, (1 - left) * EVERY_MS), signal).catch(() => undefined);
        count();
      }
      if (pending) left = Math.max(0, left - 1);
      pending = false;
    },
  };
}
