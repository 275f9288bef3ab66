import type { Clock } from '../../host/clock.ts';
import type { ObjectCache } from '../watch.ts';

const SYNC_POLL_MS = 50;

/** Waits until every copy has had its first list, or the signal is aborted. */
export async function untilSynced(
  copies: readonly Pick<ObjectCache<never>, 'synced'>[],
  clock: Pick<Clock, 'sleep'>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted && !copies.every((copy) => copy.synced())) {
    await clock.sleep(SYNC_POLL_MS, signal).catch(() => undefined);
  }
}
