import type { Clock } from '../../host/clock.ts';

/** A drain that takes longer is in the conditions of its node after this time, in milliseconds. */
const WAITS_MS = 1_000;
/** Where more nodes begin at once the time is longer in proportion: drains of very many nodes need longer too. */
const NODES_AT_ONCE = 5;
const MOST_MS = 30_000;

/** The nodes whose conditions do not say yet that their drain has begun. */
interface WaitingReports {
  /**
   * For how long the conditions of the node may still wait, in milliseconds, where they have only to say that its drain has
   * begun; nothing, and the node is forgotten, where they have to say more.
   */
  leftMs(node: string, isBeginning: boolean): number;
}

export function createWaitingReports(clock: Pick<Clock, 'monotonic'>): WaitingReports {
  /** When the drain of each node was first seen to begin, on the monotonic clock. */
  const since = new Map<string, number>();
  return {
    leftMs: (node, isBeginning) => {
      if (!isBeginning) {
        since.delete(node);
        return 0;
      }
      const now = clock.monotonic();
      const begunAt = since.get(node) ?? now;
      since.set(node, begunAt);
      const waitsMs = Math.min(WAITS_MS * Math.max(1, since.size / NODES_AT_ONCE), MOST_MS);
      return begunAt + waitsMs - now;
    },
  };
}
