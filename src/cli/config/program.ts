import { type Command, Option } from 'commander';
import type { ConfigFlags } from './config.ts';
import type { Terminal } from '../terminal/terminal.ts';

const CONFIG = '/etc/nodemaint/config.yaml';
const EXIT_CODES = `
Exit codes:
  0  the agent can start with it
  1  something that it names cannot be used, such as the kubeconfig
  2  it is not valid, or used wrongly`;

/** Adds the commands for the agent's configuration. */
export function addConfig(program: Command, terminal: Terminal): void {
  const group = program.command('config').description("check and show the agent's configuration");
  group
    .command('check')
    .summary('check that the agent can start with it')
    .description(
      'Read the configuration and what it names, as the agent does at its start, and say what is wrong. Changes nothing.',
    )
    .option('--config <file>', "the agent's configuration file", CONFIG)
    .addHelpText('after', EXIT_CODES)
    .action(async (flags: ConfigFlags) => {
      const { checkConfigCommand } = await import('./config.ts');
      await checkConfigCommand(flags, terminal);
    });
  group
    .command('show')
    .summary('show the configuration as the agent would use it')
    .description(
      'Show the configuration as the agent would use it now: with every default, and with the directories of the static pods as the kubelet that runs has them.',
    )
    .argument('[keys...]', 'print the values of these keys alone, a line for each')
    .option('--config <file>', "the agent's configuration file", CONFIG)
    .addOption(new Option('-o, --output <format>', 'output format').choices(['json', 'yaml']).default('yaml'))
    .action(async (keys: readonly string[], flags: ConfigFlags & { readonly output: 'json' | 'yaml' }) => {
      const { showConfigCommand } = await import('./config.ts');
      await showConfigCommand(keys, flags, terminal);
    });
}
