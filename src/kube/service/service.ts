import { type Clock, createSystemClock } from '../../host/clock.ts';
import type { LogFormat } from '../../telemetry/log-line.ts';
import { createLog, type Log, type LogLevel } from '../../telemetry/log.ts';
import { createKubeClient, type KubeClient } from '../client.ts';
import { loadClusterAccess } from '../access/cluster.ts';

/** The flags of every program that runs in the cluster and speaks with its API server alone. */
export interface ServiceFlags {
  readonly kubeconfig?: string;
  readonly logLevel: LogLevel;
  readonly logFormat?: LogFormat;
}

/** What such a program works with. */
export interface ServiceDependencies {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
}

/** Runs the program under this name, which the API server and the log have; the client is closed when it has ended. */
export async function runService(
  name: string,
  { kubeconfig, logLevel, logFormat }: ServiceFlags,
  run: (dependencies: ServiceDependencies) => Promise<void>,
): Promise<void> {
  const client = createKubeClient(await loadClusterAccess(kubeconfig), name);
  try {
    await run({ client, clock: createSystemClock(), log: createLog(logLevel, name, logFormat) });
  } finally {
    client.close();
  }
}
