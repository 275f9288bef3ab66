import type { Command } from 'commander';
import type { StaticPodsFlags } from '../machine/local-node.ts';
import {
  configOption,
  examples,
  type ExitWith,
  exitCodes,
  outputOption,
  waitTimeoutOption,
} from '../arguments/options.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { MoveFlags } from './move.ts';

function addMove(command: Command, ...lines: readonly string[]): Command {
  return command
    .addOption(configOption())
    .addOption(waitTimeoutOption('the manifests', '5m'))
    .addHelpText(...examples(...lines))
    .addHelpText(...exitCodes({ 0: 'done', 3: '--timeout is over; a running agent continues' }));
}

function addPark(parent: Command, terminal: Terminal, exitWith: ExitWith): void {
  const park = parent
    .command('park')
    .summary('move manifests out, so that their pods end')
    .description(
      'Move manifests out of the static pod directory. Their pods end with their grace period and stay away, also over reboots, until "nodemaint restore".',
    )
    .argument('<files...>', 'names of manifests');
  addMove(park, 'sudo nodemaint static-pods park web.yaml').action(
    async (files: readonly string[], flags: MoveFlags) => {
      const { moveStaticPodsCommand } = await import('./move.ts');
      exitWith(await moveStaticPodsCommand('park', files, flags, terminal));
    },
  );
}

function addRestore(parent: Command, terminal: Terminal, exitWith: ExitWith): void {
  const restore = parent
    .command('restore')
    .summary('move parked manifests back')
    .description(
      'Move parked manifests of this machine back into the static pod directory, once their old containers are gone. A manifest that a maintenance still needs out of the way is parked again.',
    )
    .argument('[files...]', 'names of manifests')
    .option('--all', 'all that are parked');
  addMove(restore, 'sudo nodemaint restore --all', 'sudo nodemaint restore web.yaml').action(
    async (files: readonly string[], flags: MoveFlags) => {
      const { moveStaticPodsCommand } = await import('./move.ts');
      exitWith(await moveStaticPodsCommand('restore', files, flags, terminal));
    },
  );
}

/** Adds the commands for the static pods of this machine; they need neither an agent nor an API server. */
export function addStaticPods(program: Command, terminal: Terminal, exitWith: ExitWith): void {
  const group = program
    .command('static-pods')
    .summary('list and park the static pods of this machine')
    .description(
      'List and park the manifests of the static pods of this machine, also without an agent and an API server; "nodemaint restore" puts them back.',
    );
  group
    .command('list')
    .description('show each manifest: in place, ending, parked or superseded')
    .addOption(configOption())
    .addOption(outputOption())
    .addHelpText(...examples('sudo nodemaint static-pods list', 'sudo nodemaint static-pods list -o json'))
    .action(async (flags: StaticPodsFlags) => {
      const { listStaticPodsCommand } = await import('./list.ts');
      await listStaticPodsCommand(flags, terminal);
    });
  addPark(group, terminal, exitWith);
  addRestore(program, terminal, exitWith);
}
