import type { Command } from 'commander';
import type { ClusterFlags } from '../cluster/cluster.ts';
import { addClusterOptions, examples, type ExitWith, exitCodes } from '../arguments/options.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** Adds the command that checks the cluster's side. */
export function addCheck(program: Command, terminal: Terminal, exitWith: ExitWith): void {
  addClusterOptions(program.command('check'))
    .summary('check what is installed in the cluster')
    .description(
      'Check the custom resources, the admission policies, the rights of agents and controller, the controller, its webhook, and the agents of all nodes. "nodemaint doctor" checks one node.',
    )
    .addHelpText('after', examples('nodemaint check', 'nodemaint check --context test -o json'))
    .addHelpText(
      'after',
      exitCodes({ 0: 'no check fails; there may be warnings', 1: 'a check fails', 2: 'usage error' }),
    )
    .action(async (flags: ClusterFlags) => {
      const { checkCommand } = await import('./check.ts');
      exitWith(await checkCommand(flags, terminal));
    });
}
