import { type Command, Option } from 'commander';
import { configOption, examples, exitCodes } from '../arguments/options.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { ConfigFlags, ShowFlags } from './config.ts';

/** Adds the commands for the agent's configuration. */
export function addConfig(program: Command, terminal: Terminal): void {
  const group = program.command('config').description("check and show the agent's configuration");
  group
    .command('check')
    .summary('check that the agent can start with it')
    .description(
      'Read the configuration with its drop-ins, and the files that it names, as the agent does at its start, and report what is wrong. Changes nothing.',
    )
    .argument('[file]', 'another file than --config; "-" for standard input')
    .addOption(configOption())
    .addHelpText(...examples('sudo nodemaint config check', 'nodemaint config check - < config.yaml'))
    .addHelpText(
      ...exitCodes({
        0: 'the agent can start with it',
        1: 'a file that it names cannot be used, such as the kubeconfig',
        2: 'the configuration is invalid, or a usage error',
      }),
    )
    .action(async (file: string | undefined, flags: ConfigFlags) => {
      const { checkConfigCommand } = await import('./config.ts');
      await checkConfigCommand(file, flags, terminal);
    });
  group
    .command('show')
    .summary('show the configuration as the agent would use it')
    .description(
      'Show the configuration as the agent would use it now: with every default, and with the directories of static pods that the running kubelet uses.',
    )
    .argument('[keys...]', 'print only the values of these keys, one line each')
    .addOption(configOption())
    .addOption(new Option('-o, --output <format>', 'output format').choices(['json', 'yaml']).default('yaml'))
    .addHelpText(...examples('sudo nodemaint config show', 'sudo nodemaint config show staticPodPath'))
    .action(async (keys: readonly string[], flags: ShowFlags) => {
      const { showConfigCommand } = await import('./config.ts');
      await showConfigCommand(keys, flags, terminal);
    });
  group
    .command('detect')
    .summary('show what this machine tells of its kubelet')
    .description(
      "Show kubeconfig and container runtime as the running kubelet has them, else the usual ones that exist, as keys of the agent's configuration. install.sh uses it.",
    )
    .addHelpText(...examples('sudo nodemaint config detect'))
    .action(async () => {
      const { detectConfigCommand } = await import('./detect.ts');
      await detectConfigCommand(terminal);
    });
}
