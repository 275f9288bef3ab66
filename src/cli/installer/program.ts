import path from 'node:path';
import process from 'node:process';
import type { Command } from 'commander';
import { examples } from '../arguments/options.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { InstallNodeFlags } from './install-node.ts';

/** Adds the command of the installer's pod. */
export function addInstaller(program: Command, terminal: Terminal): void {
  program
    .command('install-node')
    .summary("run install.sh on this pod's machine")
    .description(
      'In the pod of the installer (manifests/installer): run install.sh with these arguments on the machine itself, as a unit of its systemd, and try again while the machine is busy. A pod that ends does not interrupt install.sh.',
    )
    .argument('[args...]', 'arguments of install.sh, after "--"')
    .option('--kit <folder>', 'the folder with install.sh (default: the one in which dist/ with this program is)')
    .option('--work <folder>', 'a folder that the machine has at the same path', '/var/lib/nodemaint-installer')
    .option(
      '--drop-in <file>',
      'a drop-in of the configuration for the machine',
      '/etc/nodemaint-installer/config.yaml',
    )
    .option('--units <folder>', "the machine's folder of transient units", '/run/systemd/system')
    .addHelpText(...examples('nodemaint install-node -- --standalone'))
    .action(async (args: readonly string[], flags: Omit<InstallNodeFlags, 'kit'> & { readonly kit?: string }) => {
      const { kit = path.dirname(path.dirname(process.argv[1] ?? '')) } = flags;
      const { installNodeCommand } = await import('./install-node.ts');
      await installNodeCommand(args, { ...flags, kit }, terminal);
    });
}
