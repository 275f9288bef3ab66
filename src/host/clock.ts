import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';

/** The clock of the loops, which tests replace. */
export interface Clock {
  /** Milliseconds since the epoch. It can jump in both directions, because an administrator or NTP may set it. */
  now(): number;
  /** Milliseconds since the boot, for durations; see `monotonicNow`. */
  monotonic(): number;
  /** Waits `ms` milliseconds; rejects with the signal's reason when it is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** The clock of this machine. */
export function createSystemClock(): Clock {
  return {
    now: () => Date.now(),
    monotonic: monotonicNow,
    sleep: async (ms, signal) => {
      await delay(ms, undefined, { signal });
    },
  };
}

/** One moment on both clocks of a machine: the monotonic one never jumps, the wall clock continues while the machine sleeps. */
export interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

/** The present moment on both clocks. */
export function momentOf(clock: Clock): Moment {
  return { monotonic: clock.monotonic(), wall: clock.now() };
}

/** A smaller difference is no jump of the wall clock: the two clocks are not read at the same instant. */
const JUMP_MS = 1_000;

/**
 * When `moment` was, in milliseconds since the epoch according to the wall clock of `now`. If the wall clock was set in the
 * meantime, the distance between the two moments is still right.
 */
export function asOfNow(moment: Moment, now: Moment): number {
  const at = now.wall - (now.monotonic - moment.monotonic);
  return Math.abs(at - moment.wall) < JUMP_MS ? moment.wall : at;
}

/**
 * Milliseconds since the boot (CLOCK_MONOTONIC): this clock cannot be set, and is the same in every process. It may stop while
 * the machine sleeps.
 */
export function monotonicNow(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}
