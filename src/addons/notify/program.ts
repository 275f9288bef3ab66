import { type Command, Option } from 'commander';
import { addServiceOptions } from '../../kube/service/options.ts';
import type { NotifyFlags } from './command.ts';
import { FORMATS } from './decide/template.ts';

/** Adds `nodemaint notify`, which runs until `stop` is aborted. */
export function addNotify(program: Command, { stop }: { readonly stop: AbortSignal }): void {
  const command = program
    .command('notify')
    .description('tell people by a webhook that a drain has begun, is blocked, was forced, or is done');
  addServiceOptions(command)
    .option('--secret <folder>', 'a folder with the file url, and token, ca.crt and template', '/etc/nodemaint-notify')
    .addOption(new Option('--format <format>', 'of a message without a template').choices(FORMATS).default('json'))
    .option('--cluster-name <name>', 'the name of the cluster in the messages', '')
    .option('--blocked-after <time>', 'how long one pod blocks a drain before people are told', '1h')
    .addHelpText('after', '\nExamples:\n  nodemaint notify --format slack --cluster-name prod-1')
    .action(async (flags: NotifyFlags) => {
      const { notifyCommand } = await import('./command.ts');
      await notifyCommand(flags, stop);
    });
}
