import { DURATION_HINT, parseDuration } from '../../decide/duration.ts';
import { NodemaintError } from '../../errors.ts';
import { createSystemClock } from '../../host/clock.ts';
import { createKubeClient } from '../../kube/client.ts';
import { loadClusterAccess } from '../../kube/access/cluster.ts';
import { createLog, type LogLevel } from '../../telemetry/log.ts';
import { runSurge } from './surge.ts';

export interface SurgeFlags {
  readonly kubeconfig?: string;
  readonly logLevel: LogLevel;
  /** A duration. */
  readonly timeout: string;
}

/** `nodemaint surge`: runs the interceptor of surges until the signal is aborted. Throws USAGE for an invalid duration. */
export async function surgeCommand({ kubeconfig, logLevel, timeout }: SurgeFlags, signal: AbortSignal): Promise<void> {
  const timeoutMs = parseDuration(timeout);
  if (timeoutMs === undefined) throw new NodemaintError('USAGE', `--timeout: ${DURATION_HINT}`);
  const client = createKubeClient(await loadClusterAccess(kubeconfig), 'nodemaint-surge');
  try {
    const log = createLog(logLevel, 'nodemaint-surge');
    await runSurge({ client, clock: createSystemClock(), log }, timeoutMs, signal);
  } finally {
    client.close();
  }
}
