import type { Clock } from '../host/clock.ts';

/** Beats while the agent's loop makes progress, and stops where the loop hangs. */
export interface LoopWatchdog {
  /** The loop begins an iteration, or waits for an event. */
  readonly markProgress: () => void;
  /** Beats until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
}

interface LoopWatchdogOptions {
  /** The pause between two beats, in milliseconds. */
  readonly everyMs: number;
  /** A loop without progress for so long hangs, in milliseconds. */
  readonly patienceMs: number;
  /** Called one after another at each beat; one that fails does not keep the others from being called. */
  readonly beats: readonly ((signal: AbortSignal) => Promise<void>)[];
}

/**
 * Calls `beats` every `everyMs`, as long as the loop marked progress within `patienceMs`. One slow iteration, in which an API
 * server does not answer, must cost neither the lock nor the process.
 */
export function createLoopWatchdog(
  { everyMs, patienceMs, beats }: LoopWatchdogOptions,
  clock: Pick<Clock, 'sleep' | 'monotonic'>,
): LoopWatchdog {
  let progressAt = clock.monotonic();
  return {
    markProgress: () => {
      progressAt = clock.monotonic();
    },
    run: async (signal) => {
      while (!signal.aborted) {
        if (clock.monotonic() - progressAt < patienceMs) {
          for (const beat of beats) await beat(signal).catch(() => undefined);
        }
        await clock.sleep(everyMs, signal).catch(() => undefined);
      }
    },
  };
}

/** The lock's holder wants a heartbeat so often; how long it waits for one is in systemd/libexec/lock-holder. */
const HOLDER_MS = 45_000;

/**
 * How long the pause between two beats may be, in milliseconds: what the lock's holder allows, or less where the watchdog of
 * the unit is shorter. `watchdogUsec` is WATCHDOG_USEC, of which half is to be used (sd_watchdog_enabled(3)).
 */
export function beatEveryMs(watchdogUsec: string | undefined): number {
  const halfMs = Math.floor(Number(watchdogUsec ?? Number.NaN) / 2000);
  return halfMs > 0 ? Math.min(HOLDER_MS, halfMs) : HOLDER_MS;
}
