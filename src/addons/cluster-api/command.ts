import { createSystemClock } from '../../host/clock.ts';
import { loadClusterAccess } from '../../kube/access/cluster.ts';
import { createKubeClient } from '../../kube/client.ts';
import { createLog, type LogLevel } from '../../telemetry/log.ts';
import { runMachineHooks } from './machine-hooks.ts';

export interface ClusterApiFlags {
  readonly kubeconfig?: string;
  readonly logLevel: LogLevel;
}

/** `nodemaint cluster-api`: keeps the hooks of Machines until the signal is aborted. */
export async function clusterApiCommand({ kubeconfig, logLevel }: ClusterApiFlags, signal: AbortSignal): Promise<void> {
  const client = createKubeClient(await loadClusterAccess(kubeconfig), 'nodemaint-cluster-api');
  try {
    const log = createLog(logLevel, 'nodemaint-cluster-api');
    await runMachineHooks({ client, clock: createSystemClock(), log }, signal);
  } finally {
    client.close();
  }
}
