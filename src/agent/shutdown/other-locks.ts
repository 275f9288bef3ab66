import process from 'node:process';
import { delayOfOthersMs, describeLock, isOwnLock, otherLocks } from '../../decide/shutdown/other-locks.ts';
import type { Phase } from '../../decide/shutdown/phase.ts';
import { describeError } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';
import type { Inhibitor } from '../../host/systemd/login1.ts';
import { readLogindConfig } from '../../host/systemd/logind-config.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Host } from './lock-kind.ts';

/** Watches the locks of others while a shutdown is held, and goes on without them when their time is over. */
export interface OtherLocks {
  /** Looks, and acts in the phase "released". Never fails: what is wrong is logged. */
  reconcile(phase: Phase, signal: AbortSignal): Promise<void>;
  /** Whose locks delay the shutdown beside the agent's, in words, as of the last look. */
  status(): readonly string[];
}

export interface OtherLocksDependencies {
  readonly host: Host | undefined;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Log;
}

/** Makes the watch. */
export function createOtherLocks({ host, clock, log }: OtherLocksDependencies): OtherLocks {
  let names: readonly string[] = [];
  /** Since when logind waits for nothing but the locks of others. */
  let waitsSince: number | undefined;
  let complained = '';

  const tell = (others: readonly Inhibitor[]): void => {
    const now = others.map(describeLock);
    const news = now.filter((lock) => !names.includes(lock));
    if (news.length > 0) log.warn({ locks: news }, 'others delay the shutdown too');
    names = now;
  };
  /** Lets the shutdown go on without locks whose time is over. */
  const goOn = async ({ login1, systemd }: Host, waitedMs: number, signal: AbortSignal): Promise<void> => {
    const allowedMs = delayOfOthersMs(await readLogindConfig('/', signal));
    if (waitedMs < allowedMs || (await systemd.isGoingDown(signal))) return;
    const { kind } = await login1.shutdownRequester(signal);
    if (kind === undefined)
      throw new Error('logind does not tell which shutdown it prepares, end these processes by hand');
    log.error({ kind, locks: names, waitedMs }, 'the time of the locks of others is over, going down without them');
    await systemd.goDown(kind, signal);
  };
  const look = async (phase: Phase, all: Host, signal: AbortSignal): Promise<void> => {
    const uid = process.getuid?.();
    const locks = await all.login1.listInhibitors(signal);
    tell(otherLocks(locks, uid));
    const onlyOthers = names.length > 0 && !locks.some((lock) => isOwnLock(lock, uid));
    const waits = phase.kind === 'released' && onlyOthers && (await all.login1.preparingForShutdown(signal));
    waitsSince = waits ? (waitsSince ?? clock.monotonic()) : undefined;
    if (waitsSince !== undefined) await goOn(all, clock.monotonic() - waitsSince, signal);
  };

  return {
    status: () => names,
    reconcile: async (phase, signal) => {
      if (host === undefined || (phase.kind !== 'draining' && phase.kind !== 'released')) {
        names = [];
        waitsSince = undefined;
        return;
      }
      try {
        await look(phase, host, signal);
        complained = '';
      } catch (error) {
        signal.throwIfAborted();
        const reason = describeError(error);
        if (reason !== complained) log.warn({ reason }, 'a shutdown may wait for locks of others');
        complained = reason;
      }
    },
  };
}
