import process from 'node:process';
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

/**
 * Milliseconds since the boot on a clock that nobody sets, the same in every process (CLOCK_MONOTONIC); it may stand still
 * while the machine sleeps.
 */
export function monotonicNow(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}
