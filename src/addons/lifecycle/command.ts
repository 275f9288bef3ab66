import { DURATION_HINT, parseDuration } from '../../decide/duration.ts';
import { NodemaintError } from '../../errors.ts';
import { createSystemClock } from '../../host/clock.ts';
import { loadClusterAccess } from '../../kube/access/cluster.ts';
import { createKubeClient } from '../../kube/client.ts';
import { createLog, type LogLevel } from '../../telemetry/log.ts';
import { runLifecycle } from './lifecycle.ts';

export interface LifecycleFlags {
  readonly kubeconfig?: string;
  readonly logLevel: LogLevel;
  /** Durations. */
  readonly takeOverTimeout: string;
  readonly promiseTimeout: string;
  readonly promiseWords?: readonly string[];
}

function milliseconds(flag: string, text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new NodemaintError('USAGE', `${flag}: ${DURATION_HINT}`);
  return ms;
}

/** `nodemaint lifecycle`: runs the controllers until the signal is aborted. Throws USAGE for an invalid duration. */
export async function lifecycleCommand(flags: LifecycleFlags, signal: AbortSignal): Promise<void> {
  const { kubeconfig, logLevel, takeOverTimeout, promiseTimeout, promiseWords } = flags;
  const patience = {
    takeOverMs: milliseconds('--take-over-timeout', takeOverTimeout),
    promiseMs: milliseconds('--promise-timeout', promiseTimeout),
  };
  const options = { patience, ...(promiseWords === undefined ? {} : { promiseWords }) };
  const client = createKubeClient(await loadClusterAccess(kubeconfig), 'nodemaint-lifecycle');
  try {
    const log = createLog(logLevel, 'nodemaint-lifecycle');
    await runLifecycle({ client, clock: createSystemClock(), log }, { options }, signal);
  } finally {
    client.close();
  }
}
