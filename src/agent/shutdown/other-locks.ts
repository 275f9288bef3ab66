import process from 'node:process';
import {
  delayOfOthersMs,
  describeLock,
  isKubeletsLock,
  isOwnLock,
  otherLocks,
} from '../../decide/shutdown/other-locks.ts';
import type { Phase } from '../../decide/shutdown/phase.ts';
import type { Clock } from '../../host/clock.ts';
import { readLogindConfig } from '../../host/systemd/logind-config.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Host } from './inhibitor-lock.ts';

/** Lists the inhibitor locks of other programs while a shutdown is held, and starts it when their time is over. */
export interface OtherLocks {
  /** Lists the locks; in the phase "released" it ends the wait for them. Throws what logind or systemd answers. */
  reconcile(phase: Phase, signal: AbortSignal): Promise<void>;
  /** The locks that delay the shutdown beside the agent's, in words, as they were listed last. */
  status(): readonly string[];
  /** Whether the kubelet had a lock when they were listed last: it ends pods by its own graceful shutdown then. */
  hasKubelets(): boolean;
}

interface OtherLocksDependencies {
  /** Undefined where there is neither logind nor systemd. */
  readonly host: Host | undefined;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Log;
}

/** What was listed last: the locks of others, and since when logind waits for nothing else. */
interface Listing {
  readonly names: readonly string[];
  readonly hasKubelets: boolean;
  readonly waitsSince: number | undefined;
}

const NO_LOCKS: Listing = { names: [], hasKubelets: false, waitsSince: undefined };

/** Creates the view of the locks; logind is not asked before the first `reconcile`. */
export function createOtherLocks({ host, clock, log }: OtherLocksDependencies): OtherLocks {
  let listing = NO_LOCKS;

  const list = async (phase: Phase, { login1 }: Host, signal: AbortSignal): Promise<Listing> => {
    const uid = process.getuid?.();
    const locks = await login1.listInhibitors(signal);
    const others = otherLocks(locks, uid);
    const names = others.map(describeLock);
    const added = names.filter((name) => !listing.names.includes(name));
    if (added.length > 0) log.warn({ locks: added }, 'others delay the shutdown too');
    const onlyOthers = names.length > 0 && !locks.some((lock) => isOwnLock(lock, uid));
    const waits = phase.kind === 'released' && onlyOthers && (await login1.preparingForShutdown(signal));
    return {
      names,
      hasKubelets: others.some(isKubeletsLock),
      waitsSince: waits ? (listing.waitsSince ?? clock.monotonic()) : undefined,
    };
  };
  /** Starts the shutdown in spite of locks whose time is over. */
  const endWait = async ({ login1, systemd }: Host, waitedMs: number, signal: AbortSignal): Promise<void> => {
    const allowedMs = delayOfOthersMs(await readLogindConfig('/', signal));
    if (waitedMs < allowedMs || (await systemd.isGoingDown(signal))) return;
    const { kind } = await login1.shutdownRequester(signal);
    if (kind === undefined)
      throw new Error('logind does not tell which shutdown it prepares, end these processes by hand');
    log.error(
      { kind, locks: listing.names, waitedMs },
      'the time of the locks of others is over, going down without them',
    );
    await systemd.goDown(kind, signal);
  };

  return {
    status: () => listing.names,
    hasKubelets: () => listing.hasKubelets,
    reconcile: async (phase, signal) => {
      if (host === undefined || (phase.kind !== 'draining' && phase.kind !== 'released')) {
        listing = NO_LOCKS;
        return;
      }
      listing = await list(phase, host, signal);
      if (listing.waitsSince !== undefined) await endWait(host, clock.monotonic() - listing.waitsSince, signal);
    },
  };
}
