import { type Command, Option } from 'commander';
import type { Terminal } from '../terminal/terminal.ts';
import type { StaticPodsFlags } from '../local-node.ts';
import type { MoveFlags } from './move.ts';

const CONFIG = '/etc/nodemaint/config.yaml';
const EXIT_CODES = `
Exit codes:
  0  done
  1  failed, or interrupted
  2  used wrongly
  3  --timeout is over; where an agent runs it goes on`;

function addOutput(command: Command): Command {
  return command
    .option('--config <file>', "the agent's configuration file", CONFIG)
    .addOption(
      new Option('-o, --output <format>', 'output format').choices(['table', 'json', 'yaml']).default('table'),
    );
}

function addMove(command: Command): Command {
  return command
    .option('--config <file>', "the agent's configuration file", CONFIG)
    .option('--timeout <time>', 'wait at most so long, such as 90s, 20m or 1h30m; 0 for ever', '5m')
    .addHelpText('after', EXIT_CODES);
}

function addRestore(parent: Command, terminal: Terminal, exitWith: (code: number) => void): void {
  const restore = parent
    .command('restore')
    .summary('give parked manifests back')
    .description(
      'Give parked manifests of this machine back, whatever they were parked for, when their old containers are gone. One for which a maintenance still asks is parked again.',
    )
    .argument('[files...]', 'names of manifests')
    .option('--all', 'all that are parked');
  addMove(restore).action(async (files: readonly string[], flags: MoveFlags) => {
    const { moveStaticPodsCommand } = await import('./move.ts');
    exitWith(await moveStaticPodsCommand('restore', files, flags, terminal));
  });
}

/** Adds the commands for the static pods of this machine; they need neither an agent nor an API server. */
export function addStaticPods(program: Command, terminal: Terminal, exitWith: (code: number) => void): void {
  const group = program
    .command('static-pods')
    .summary("list, park and restore this machine's static pods")
    .description(
      "List, park and restore the manifests of this machine's static pods, also without agent and API server.",
    );
  addOutput(group.command('list').description('show every manifest: in place, parked, ending or superseded')).action(
    async (flags: StaticPodsFlags) => {
      const { listStaticPodsCommand } = await import('./list.ts');
      await listStaticPodsCommand(flags, terminal);
    },
  );
  addOutput(group.command('journal').description('show what the agent has written down about its moves')).action(
    async (flags: StaticPodsFlags) => {
      const { journalCommand } = await import('./list.ts');
      await journalCommand(flags, terminal);
    },
  );
  const park = group
    .command('park')
    .summary('move manifests out, so that their pods end')
    .description(
      'Move manifests out of the static pod directory, so that their pods end with their grace period and stay away, over reboots too, until they are restored by hand.',
    )
    .argument('<files...>', 'names of manifests');
  addMove(park).action(async (files: readonly string[], flags: MoveFlags) => {
    const { moveStaticPodsCommand } = await import('./move.ts');
    exitWith(await moveStaticPodsCommand('park', files, flags, terminal));
  });
  addRestore(group, terminal, exitWith);
  addRestore(program, terminal, exitWith);
}
