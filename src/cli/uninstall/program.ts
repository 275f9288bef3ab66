import type { Command } from 'commander';
import { addAccessOptions, dryRunOption, examples, type ExitWith, exitCodes } from '../arguments/options.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { UninstallFlags } from './uninstall.ts';

/** Adds the command that prepares a cluster for the deletion of the manifests. */
export function addUninstall(program: Command, terminal: Terminal, exitWith: ExitWith): void {
  const uninstall = program
    .command('uninstall-cluster')
    .summary('end all maintenances and release all pods, before the manifests are deleted')
    .description(
      'Remove the DaemonSet gate, complete and delete all NodeMaintenances, release the gated pods, and take the rights of the controller and the nodes away, so that "kubectl delete -k manifests" leaves nothing behind, and no account has rights without the policies that restrict it.',
    );
  addAccessOptions(uninstall)
    .option('--yes', 'do not ask; needed where no person sits at a terminal')
    .addOption(dryRunOption('; show what would be ended'))
    .option('--timeout <time>', 'stop waiting for the controller after this time', '60s')
    .option('--force', 'then delete the maintenances, and give their nodes back, without the controller')
    .addHelpText(
      ...examples('nodemaint uninstall-cluster --dry-run', 'nodemaint uninstall-cluster --context test --yes'),
    )
    .addHelpText(...exitCodes({ 0: 'done', 3: 'maintenances are left' }))
    .action(async (flags: UninstallFlags) => {
      const { uninstallClusterCommand } = await import('./uninstall.ts');
      exitWith(await uninstallClusterCommand(flags, terminal));
    });
}
