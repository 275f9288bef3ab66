import type { Clock } from '../../host/clock.ts';
import { behindOf, type CurrentCopy } from '../leader/readiness.ts';
import type { Log } from '../../telemetry/log.ts';

/** A pause of the leader that is longer than this is logged; a restart of the API server takes less. */
const LONG_PAUSE_MS = 30_000;

/**
 * Whether all copies, by the names of their resources, follow the API server. The leader decides nothing while one does not.
 * A pause that lasts, for instance because a resource is gone or may not be read, is logged once, and its end too.
 */
export function createCurrencyCheck(
  copies: Readonly<Record<string, CurrentCopy>>,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): () => boolean {
  let pausedAt: number | undefined;
  let isLogged = false;
  return () => {
    const resources = behindOf(copies);
    if (resources.length === 0) {
      if (isLogged) log.info({}, 'the controller goes on: all watches follow the API server again');
      pausedAt = undefined;
      isLogged = false;
      return true;
    }
    pausedAt ??= clock.monotonic();
    if (!isLogged && clock.monotonic() - pausedAt >= LONG_PAUSE_MS) {
      isLogged = true;
      log.warn({ resources }, 'the controller decides nothing until these watches follow the API server again');
    }
    return false;
  };
}
