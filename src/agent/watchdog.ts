import type { Clock } from '../host/clock.ts';

/** The sign of life of a loop: it beats while the loop gets anywhere, and stops where it hangs. */
export interface LoopWatchdog {
  /** The loop got somewhere: it begins a turn, or waits for an event. */
  alive(): void;
  /** Beats until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
}

/**
 * Makes a pulse that calls `beat` every `everyMs`, as long as the loop said within `patienceMs` that it is alive. One
 * slow turn, in which an API server does not answer, must cost neither the lock nor the process.
 */
export function createLoopWatchdog(
  { everyMs, patienceMs, beat }: { everyMs: number; patienceMs: number; beat: (signal: AbortSignal) => Promise<void> },
  clock: Pick<Clock, 'sleep'>,
  monotonicNow: () => number,
): LoopWatchdog {
  let aliveAt = monotonicNow();
  return {
    alive: () => {
      aliveAt = monotonicNow();
    },
    run: async (signal) => {
      while (!signal.aborted) {
        if (monotonicNow() - aliveAt < patienceMs) await beat(signal).catch(() => undefined);
        await clock.sleep(everyMs, signal).catch(() => undefined);
      }
    },
  };
}

/** So often the lock's holder wants a sign of life; its patience is in systemd/libexec/lock-holder. */
const PULSE_MS = 45_000;

/**
 * How long the pause between two beats may be, in milliseconds: what the lock's holder allows, or less where the unit's
 * watchdog is shorter. `watchdogUsec` is WATCHDOG_USEC, of which half is to be used (sd_watchdog_enabled(3)).
 */
export function pulseEveryMs(watchdogUsec: string | undefined): number {
  const halfMs = Math.floor(Number(watchdogUsec ?? Number.NaN) / 2000);
  return halfMs > 0 ? Math.min(PULSE_MS, halfMs) : PULSE_MS;
}
