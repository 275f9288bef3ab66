import type { Clock } from '../host/clock.ts';

/**
 * Watches of one client whose copies are used together. After a connection is lost each of them lists again, so that no copy
 * counts as current before it is, and the first one that is connected again ends the pauses of the others.
 */
export interface WatchGroup {
  /** Waits `ms` milliseconds, or until another watch of the group is connected again. Never rejects. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
  /** Notes that a watch that had failed is connected again. */
  connected(): void;
}

export function createWatchGroup(clock: Clock): WatchGroup {
  let connection = new AbortController();
  return {
    pause: async (ms, signal) => {
      await clock.sleep(ms, AbortSignal.any([signal, connection.signal])).catch(() => undefined);
    },
    connected: () => {
      const ended = connection;
      connection = new AbortController();
      ended.abort();
    },
  };
}
