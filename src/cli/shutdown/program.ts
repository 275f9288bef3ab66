import type { Command } from 'commander';
import {
  addAccessOptions,
  examples,
  exitCodes,
  type ExitWith,
  nonEmpty,
  runDirectoryOption,
  waitTimeoutOption,
} from '../arguments/options.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { ReleaseNodeFlags } from './release-node.ts';

/** The flags of `nodemaint release`. */
interface ReleaseFlags extends ReleaseNodeFlags {
  readonly runDirectory: string;
}

function addRelease(program: Command, terminal: Terminal, exitWith: ExitWith): void {
  const release = program
    .command('release')
    .summary('let a held shutdown continue at once, although pods still run')
    .description(
      'Let a held shutdown continue at once, although pods still run: of this machine, or of the node that is named, through the cluster. The second needs the verbs "release" and "drain" on the node, and an agent that reaches the API server; the command waits until the agent has let the machine go.',
    )
    .argument('[node]', 'NAME or node/NAME; without it this machine')
    .option('--reason <text>', 'why, for people', nonEmpty, 'an operator asked for it')
    .addOption(runDirectoryOption())
    .option('--yes', 'with a node: do not ask; needed where no person sits at a terminal')
    .addOption(waitTimeoutOption('the agent of the node', '30s'));
  addAccessOptions(release)
    .addHelpText(
      ...examples('sudo nodemaint release --reason "the database is stopped"', 'nodemaint release worker-1 --yes'),
    )
    .addHelpText(...exitCodes({ 0: 'the shutdown continues', 3: 'the agent of the node has not confirmed it in time' }))
    .action(async (node: string | undefined, flags: ReleaseFlags) => {
      if (node === undefined) {
        const { releaseCommand } = await import('./release.ts');
        terminal.write(await releaseCommand(flags.runDirectory, flags.reason, terminal.signal));
        return;
      }
      const { releaseNodeCommand } = await import('./release-node.ts');
      exitWith(await releaseNodeCommand(node, flags, terminal));
    });
}

/** Adds the commands that announce, cancel and release a shutdown of this machine. */
export function addShutdown(program: Command, terminal: Terminal, exitWith: ExitWith): void {
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
      ...examples(
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
    .description('call off the shutdown that was asked for on this machine, also while it is held')
    .addOption(runDirectoryOption())
    .addHelpText(...examples('sudo nodemaint cancel'))
    .action(async (options: { runDirectory: string }) => {
      const { cancelCommand } = await import('./trigger.ts');
      terminal.write(await cancelCommand(options.runDirectory));
    });

  addRelease(program, terminal, exitWith);
}
