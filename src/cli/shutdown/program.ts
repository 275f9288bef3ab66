import type { Command } from 'commander';
import { examples, nonEmpty, runDirectoryOption } from '../arguments/options.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** Adds the commands that announce, cancel and release a shutdown of this machine. */
export function addShutdown(program: Command, terminal: Terminal): void {
  program
    .command('trigger')
    .description('announce a shutdown to the agent of this machine, which drains the node')
    .requiredOption('--reason <text>', 'why, for people', nonEmpty)
    .option(
      '--deadline <time>',
      'the machine goes down after this time, such as 90s; grace periods are shortened to fit',
    )
    .addOption(runDirectoryOption())
    .addHelpText(
      'after',
      examples(
        'sudo nodemaint trigger --reason "kernel update"',
        'sudo nodemaint trigger --reason "the host goes away" --deadline 120s',
      ),
    )
    .action(async (options: { reason: string; deadline?: string; runDirectory: string }) => {
      const { triggerCommand } = await import('./trigger.ts');
      terminal.write(await triggerCommand(options.runDirectory, options.reason, options.deadline));
    });

  program
    .command('cancel')
    .description('cancel an announced shutdown')
    .addOption(runDirectoryOption())
    .addHelpText('after', examples('sudo nodemaint cancel'))
    .action(async (options: { runDirectory: string }) => {
      const { cancelCommand } = await import('./trigger.ts');
      terminal.write(await cancelCommand(options.runDirectory));
    });

  program
    .command('release')
    .description('let a held shutdown continue at once, although pods still run')
    .option('--reason <text>', 'why, for people', 'an operator asked for it')
    .addOption(runDirectoryOption())
    .addHelpText('after', examples('sudo nodemaint release --reason "the database is stopped"'))
    .action(async (options: { reason: string; runDirectory: string }) => {
      const { releaseCommand } = await import('./release.ts');
      terminal.write(await releaseCommand(options.runDirectory, nonEmpty(options.reason), terminal.signal));
    });
}
