import type { Clock } from './clock.ts';

/** What follows a moment of rest within this time, such as the answers to the last requests, is collected with the rest. */
const SETTLE_MS = 5_000;
const EVERY_MS = 3_600_000;

/**
 * Returns a function that an idle program calls: some seconds later, and at most once an hour, it gives memory back that the
 * start and the last work have left, by a full collection of some 50 ms. V8 does not do that in a program that is
 * idle from then on: it waits for new objects. `collect` is the `gc` that Node.js has with --expose-gc; without it nothing
 * is done.
 */
export function createMemoryRelease(
  clock: Pick<Clock, 'monotonic' | 'sleep'>,
  collect: NodeJS.GCFunction | undefined,
  living: AbortSignal,
): () => void {
  let begunAt: number | undefined;
  const release = async (collectNow: NodeJS.GCFunction): Promise<void> => {
    try {
      await clock.sleep(SETTLE_MS, living);
    } catch {
      return;
    }
    collectNow({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  };
  return () => {
    const now = clock.monotonic();
    if (collect === undefined || living.aborted) return;
    if (begunAt !== undefined && now - begunAt < EVERY_MS) return;
    begunAt = now;
    void release(collect);
  };
}
