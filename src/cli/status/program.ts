import type { Command } from 'commander';
import {
  addClusterOptions,
  examples,
  type ExitWith,
  runDirectoryOption,
  watchTimeoutOption,
} from '../arguments/options.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { StatusFlags } from './status.ts';

/** Adds the command that shows the state of this machine, of a node or of a maintenance. */
export function addStatus(program: Command, terminal: Terminal, exitWith: ExitWith): void {
  addClusterOptions(program.command('status'), 'name')
    .summary('show the state of this machine, of a node or of a maintenance')
    .description(
      'Without a name: show the phase of the agent on this machine, its shutdown lock, and the pods it waits for; without an agent, all maintenances of the cluster. With a name: show a node or a maintenance.',
    )
    .argument('[name]', 'node or maintenance: NAME, node/NAME or nm/NAME')
    .option('-w, --watch', 'show the progress until every node is drained')
    .addOption(watchTimeoutOption())
    .addOption(runDirectoryOption())
    .addHelpText(...examples('nodemaint status', 'nodemaint status worker-1', 'nodemaint status worker-1 --watch'))
    .action(async (name: string | undefined, options: StatusFlags) => {
      const { statusOf } = await import('./status.ts');
      exitWith(await statusOf(name, options, terminal));
    });
}
