import { runController } from '../controller/controller.ts';
import { createSystemClock } from '../host/clock.ts';
import { createKubeClient } from '../kube/client.ts';
import { loadClusterAccess } from '../kube/config.ts';
import { createLog, type LogLevel } from '../telemetry/log.ts';

/** `nodemaint controller`: runs the cluster's loops until the signal is aborted. */
export async function controllerCommand(
  options: { readonly kubeconfig?: string; readonly logLevel: LogLevel },
  signal: AbortSignal,
): Promise<void> {
  const access = await loadClusterAccess(options.kubeconfig);
  const client = createKubeClient(access, 'nodemaint-controller');
  try {
    const log = createLog(options.logLevel, 'nodemaint-controller');
    await runController({ client, clock: createSystemClock(), log }, signal);
  } finally {
    client.close();
  }
}
