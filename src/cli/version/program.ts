import { type Command, Option } from 'commander';
import { addAccessOptions, examples } from '../arguments/options.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { VersionFlags } from './version.ts';

/** Adds the command that prints the versions of this program and of a cluster's. */
export function addVersion(program: Command, terminal: Terminal): void {
  addAccessOptions(program.command('version'))
    .description('print the version of this program, and those of the controller and the agents of a cluster')
    .option('--client', 'only of this program; the cluster is not asked')
    .addOption(new Option('-o, --output <format>', 'output format').choices(['text', 'json', 'yaml']).default('text'))
    .addHelpText('after', examples('nodemaint version', 'nodemaint version --client -o json'))
    .action(async (flags: VersionFlags) => {
      const { versionCommand } = await import('./version.ts');
      await versionCommand(flags, terminal);
    });
}
