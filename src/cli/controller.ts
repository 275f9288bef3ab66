import { runController } from '../controller/leader/controller.ts';
import { controllerOptionsSchema } from '../controller/options.ts';
import { describeError, NodemaintError } from '../errors.ts';
import { createSystemClock } from '../host/clock.ts';
import { createKubeClient } from '../kube/client.ts';
import { loadClusterAccess } from '../kube/access/cluster.ts';
import type { LogFormat } from '../telemetry/log-line.ts';
import { createLog, type LogLevel } from '../telemetry/log.ts';

/** The flags that this file reads; the schema of the controller reads the others. */
export interface ControllerFlags {
  readonly kubeconfig?: string;
  readonly logLevel: LogLevel;
  readonly logFormat?: LogFormat;
}

/** `nodemaint controller`: runs the controllers of the cluster until the signal is aborted. Throws USAGE for an invalid flag, also for a kubeconfig that cannot be read. */
export async function controllerCommand(flags: ControllerFlags, signal: AbortSignal): Promise<void> {
  const { kubeconfig, logLevel, logFormat, ...rest } = flags;
  const parsed = controllerOptionsSchema.safeParse(rest);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const flag = String(issue?.path[0] ?? '').replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    throw new NodemaintError('USAGE', `--${flag}: ${issue?.message ?? 'cannot be used'}`);
  }
  const access = await loadClusterAccess(kubeconfig).catch((error: unknown) => {
    if (kubeconfig === undefined || !(error instanceof NodemaintError)) throw error;
    const fix = 'name a readable kubeconfig, or leave the flag out in a pod';
    const why = describeError(error.cause ?? error);
    throw new NodemaintError('USAGE', `--kubeconfig ${kubeconfig}: ${why}; ${fix}`, { cause: error });
  });
  const client = createKubeClient(access, 'nodemaint-controller');
  const leaseClient = createKubeClient(access, 'nodemaint-controller/leader-election');
  try {
    const log = createLog(logLevel, 'nodemaint-controller', logFormat);
    await runController({ client, leaseClient, clock: createSystemClock(), log, options: parsed.data }, signal);
  } finally {
    client.close();
    leaseClient.close();
  }
}
