import { runService, type ServiceFlags } from '../../kube/service/service.ts';
import { runMachineHooks } from './machine-hooks.ts';

/** `nodemaint cluster-api`: keeps the hooks of Machines until the signal is aborted. */
export async function clusterApiCommand(flags: ServiceFlags, signal: AbortSignal): Promise<void> {
  await runService('nodemaint-cluster-api', flags, (dependencies) => runMachineHooks(dependencies, signal));
}
