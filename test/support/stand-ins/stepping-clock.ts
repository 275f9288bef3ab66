import type { Clock } from '../../../src/host/clock.ts';

/** A clock that the test moves: `pass` lets time pass, `set` changes the time as an administrator or NTP does. */
export interface SteppingClock extends Clock {
  pass(ms: number): void;
  /** Sets the wall clock so many milliseconds ahead, or back. */
  set(ms: number): void;
}

/** Makes one at 2026-01-01, an hour after the boot; waiting takes no time on it. */
export function createSteppingClock(): SteppingClock {
  let wall = Date.UTC(2026, 0, 1);
  let monotonic = 3_600_000;
  const pass = (ms: number): void => {
    wall += ms;
    monotonic += ms;
  };
  return {
    now: () => wall,
    monotonic: () => monotonic,
    pass,
    set: (ms) => (wall += ms),
    sleep: async (ms, signal) => {
      await Promise.resolve();
      signal.throwIfAborted();
      pass(ms);
    },
  };
}
