import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';

/** Time as the loops see it, so that tests can hold it still. */
export interface Clock {
  /** Milliseconds since the epoch; whoever administers the machine may set it, so that it can step back and forth. */
  now(): number;
  /** For durations: milliseconds since the boot, as `monotonicNow`. */
  monotonic(): number;
  /** Waits `ms` milliseconds; rejects with the signal's reason when it is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** The machine's own clock. */
export function createSystemClock(): Clock {
  return {
    now: () => Date.now(),
    monotonic: monotonicNow,
    sleep: async (ms, signal) => {
      await delay(ms, undefined, { signal });
    },
  };
}

/** A moment on the two clocks of a machine: one that never jumps, and one that goes on while the machine sleeps. */
export interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

/** The present moment. */
export function momentOf(clock: Clock): Moment {
  return { monotonic: clock.monotonic(), wall: clock.now() };
}

/** Readings of the two clocks are not taken at once: what differs by less is no jump. */
const JUMP_MS = 1_000;

/**
 * When `moment` was, in milliseconds since the epoch as the clock is set `now`: a clock that was set since does not make
 * it longer or shorter ago.
 */
export function asOfNow(moment: Moment, now: Moment): number {
  const at = now.wall - (now.monotonic - moment.monotonic);
  return Math.abs(at - moment.wall) < JUMP_MS ? moment.wall : at;
}

/**
 * Milliseconds since the boot on a clock that nobody sets, the same in every process (CLOCK_MONOTONIC); it may stand still
 * while the machine sleeps.
 */
export function monotonicNow(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}
