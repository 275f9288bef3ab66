import { type Command, Option } from 'commander';
import { addAccessOptions, examples } from '../arguments/options.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { NodesFlags } from './nodes.ts';

/** Adds the command that shows which nodes of a cluster are guarded. */
export function addNodes(program: Command, terminal: Terminal): void {
  addAccessOptions(program.command('nodes'))
    .summary('show which nodes are guarded by an agent')
    .description(
      'Show each node as guarded, unguarded, outdated, going-down, back or exempt, with the reason. Each agent reports on its Node object when something changes, and once an hour.',
    )
    .option('-l, --selector <labels>', 'only nodes with these labels, such as role=worker')
    .option('--unguarded', 'only the nodes that are unguarded')
    .addOption(
      new Option('-o, --output <format>', 'output format')
        .choices(['table', 'wide', 'json', 'yaml', 'name'])
        .default('table'),
    )
    .addHelpText(
      ...examples('nodemaint nodes', 'nodemaint nodes -l role=worker -o wide', 'nodemaint nodes --unguarded -o name'),
    )
    .action(async (flags: NodesFlags) => {
      const { nodesCommand } = await import('./nodes.ts');
      await nodesCommand(flags, terminal);
    });
}
