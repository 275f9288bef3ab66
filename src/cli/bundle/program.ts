import type { Command } from 'commander';
import { addAccessOptions, configOption, examples, exitCodes, type ExitWith } from '../arguments/options.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { BundleFlags } from './bundle.ts';

/** Adds the command that collects what a person needs who helps. */
export function addBundle(program: Command, terminal: Terminal, exitWith: ExitWith): void {
  const bundle = program
    .command('bundle')
    .summary('collect status, checks, logs and history in one archive for support')
    .description(
      'Collect what a person needs who helps, in one archive: status, checks, configuration, logs, history and units of this node, or with --cluster the maintenances, EvictionRequests and checks of a cluster. Tokens, passwords, keys and certificates are taken out. Works also without an agent and without an API server.',
    )
    .option('--cluster', 'of the cluster, in place of this machine')
    .option('-o, --output <file>', 'name of the archive, which must not exist; default: nodemaint-HOST-TIME.tar.gz')
    .addOption(configOption());
  addAccessOptions(bundle)
    .addHelpText('after', examples('sudo nodemaint bundle', 'nodemaint bundle --cluster -o cluster.tar.gz'))
    .addHelpText('after', exitCodes({ 0: 'the archive is written', 1: 'it cannot be written', 2: 'usage error' }))
    .action(async (flags: BundleFlags) => {
      const { bundleCommand } = await import('./bundle.ts');
      exitWith(await bundleCommand(flags, terminal));
    });
}
