import type { Clock } from '../host/clock.ts';

/** Lets events of any kind wake the one loop; an event that comes while it works is not lost. */
export interface Waker {
  wake(): void;
  /** Waits until woken or `ms` milliseconds have passed; returns at once where it was woken since the last wait. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

/** Makes a waker. */
export function createWaker(clock: Clock): Waker {
  let pending = false;
  let current: AbortController | undefined;
  return {
    wake: () => {
      pending = true;
      current?.abort();
    },
    wait: async (ms, signal) => {
      if (!pending) {
        current = new AbortController();
        await clock.sleep(ms, AbortSignal.any([signal, current.signal])).catch(() => undefined);
        current = undefined;
      }
      pending = false;
    },
  };
}
