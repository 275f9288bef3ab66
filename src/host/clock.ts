import { setTimeout as delay } from 'node:timers/promises';

/** Time as the loops see it, so that tests can hold it still. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Waits `ms` milliseconds; rejects with the signal's reason when it is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** The machine's own clock. */
export function createSystemClock(): Clock {
  return {
    now: () => Date.now(),
    sleep: async (ms, signal) => {
      await delay(ms, undefined, { signal });
    },
  };
}

/** Milliseconds on a clock that never jumps, from an arbitrary start; it may stand still while the machine sleeps. */
export function monotonicNow(): number {
  return performance.now();
}
