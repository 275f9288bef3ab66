import type { Clock } from '../host/clock.ts';

/** An iteration of the loop that takes longer hangs, in milliseconds. Each call in an iteration has a time-out far below. */
const PATIENCE_MS = 300_000;

/**
 * Beats while the agent's loop makes progress, and stops where the loop hangs. One slow iteration, in which an API server does
 * not answer, must cost neither the lock nor the process.
 */
export class LoopWatchdog {
  readonly #beats;
  readonly #everyMs: number;
  readonly #clock;
  #progressAt: number;

  /** `beats` are called one after another every `everyMs`; one that fails does not keep the others from being called. */
  constructor(
    beats: readonly ((signal: AbortSignal) => Promise<void>)[],
    everyMs: number,
    clock: Pick<Clock, 'sleep' | 'monotonic'>,
  ) {
    this.#beats = beats;
    this.#everyMs = everyMs;
    this.#clock = clock;
    this.#progressAt = clock.monotonic();
  }

  /** The loop begins an iteration, or waits for an event. */
  readonly markProgress = (): void => {
    this.#progressAt = this.#clock.monotonic();
  };

  /** Beats until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (this.#clock.monotonic() - this.#progressAt < PATIENCE_MS) {
        for (const beat of this.#beats) await beat(signal).catch(() => undefined);
      }
      await this.#clock.sleep(this.#everyMs, signal).catch(() => undefined);
    }
  }
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
