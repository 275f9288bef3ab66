import type { Command } from 'commander';
import { addClusterOptions, examples, type ExitWith, exitCodes, waitTimeoutOption } from '../arguments/options.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { CheckFlags } from './check.ts';

/** Adds the command that checks the cluster's side. */
export function addCheck(program: Command, terminal: Terminal, exitWith: ExitWith): void {
  addClusterOptions(program.command('check'))
    .summary('check what is installed in the cluster')
    .description(
      'Check the custom resources, the admission policies, the rights of agents and controller, the controller, its webhook, and the agents of all nodes but those that can have none (not Linux, Fargate, virtual kubelets) or have the label nodemaintenance.x-k8s.io/without-agent=true. "nodemaint doctor" checks one node.',
    )
    .option('-l, --selector <labels>', 'of the nodes only those with these labels, such as role=worker')
    .option('--wait', 'check again until no check fails, as after an installation')
    .addOption(waitTimeoutOption('that, with --wait,', '5m'))
    .addHelpText(
      ...examples('nodemaint check', 'nodemaint check -l role=worker --wait --timeout 10m', 'nodemaint check -o json'),
    )
    .addHelpText(...exitCodes({ 0: 'no check fails; there may be warnings', 1: 'a check fails' }))
    .action(async (flags: CheckFlags) => {
      const { checkCommand } = await import('./check.ts');
      exitWith(await checkCommand(flags, terminal));
    });
}
