import type { Clock } from '../../host/clock.ts';

/** Of a namespace at a time: slow webhooks delay only their own, which `kubectl drain`, with 5 calls a second, delays more. */
const MAX_CALLS = 64;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 1_000;

/** The calls of the Eviction API that have no answer yet, by namespace. */
export interface EvictionConcurrency {
  /** For how long another call has to wait, in milliseconds: the longer, the slower the others are; 0 where there is room. */
  pauseMs(namespace: string): number;
  /** Counts a call until it has its answer. */
  during<T>(namespace: string, call: () => Promise<T>): Promise<T>;
}

export function createEvictionConcurrency(clock: Pick<Clock, 'monotonic'>): EvictionConcurrency {
  /** When each call began, in the order in which they did. */
  const begun = new Map<string, Map<symbol, number>>();
  return {
    pauseMs: (namespace) => {
      const calls = begun.get(namespace);
      if (calls === undefined || calls.size < MAX_CALLS) return 0;
      const [oldest = clock.monotonic()] = calls.values();
      return Math.min(Math.max(clock.monotonic() - oldest, FIRST_PAUSE_MS), MAX_PAUSE_MS);
    },
    during: async (namespace, call) => {
      const calls = begun.get(namespace) ?? new Map<symbol, number>();
      begun.set(namespace, calls);
      const id = Symbol(namespace);
      calls.set(id, clock.monotonic());
      try {
        return await call();
      } finally {
        calls.delete(id);
        if (calls.size === 0) begun.delete(namespace);
      }
    },
  };
}
