import type { Command } from 'commander';
import type { Terminal } from '../terminal/terminal.ts';
import type { UninstallFlags } from './uninstall.ts';

export function addUninstall(program: Command, terminal: Terminal, exitWith: (code: number) => void): void {
  program
    .command('uninstall-cluster')
    .summary('end all maintenances and release all pods, before the manifests are deleted')
    .description(
      'Takes the DaemonSet gate away, completes and deletes all NodeMaintenances, and releases the pods that were held, so that `kubectl delete -k manifests` leaves nothing behind.',
    )
    .option('--kubeconfig <file>', 'default: $KUBECONFIG, ~/.kube/config, the service account of the pod')
    .option('--context <name>', 'context of the kubeconfig')
    .option('--timeout <time>', 'wait at most so long for the controller', '60s')
    .option('--force', 'after that do without the controller: uncordon its nodes, let the maintenances go')
    .action(async (flags: UninstallFlags) => {
      const { uninstallClusterCommand } = await import('./uninstall.ts');
      exitWith(await uninstallClusterCommand(flags, terminal));
    });
}
