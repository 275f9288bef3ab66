import { type Command } from 'commander';
import type { CompleteFlags } from './complete.ts';
import type { CordonFlags } from './cordon.ts';
import type { DrainFlags } from './drain.ts';
import type { PreviewFlags } from './preview.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { addClusterOptions } from '../options.ts';

const EXIT_CODES = `
Exit codes:
  0  done; with --watch: every node is drained
  1  failed, refused, or interrupted
  2  used wrongly
  3  --timeout is over`;

type ExitWith = (code: number) => void;

function addDrain(program: Command, terminal: Terminal, exitWith: ExitWith): void {
  const drain = program
    .command('drain')
    .summary('take all pods off nodes, in order, and watch them go')
    .description(
      'Take all pods off nodes, in the order of the drain plan: one NodeMaintenance for all of them, in the stage Drain. Pods leave through EvictionRequests; DaemonSet and static pods leave too, and stay away until the maintenance is complete.',
    )
    .argument('<nodes...>', 'names of nodes: NAME or node/NAME')
    .option(
      '--plan <file>',
      'drain plan: its entries, an object with drainPlan, or a KubeletConfiguration; - for stdin',
    )
    .option('--reason <text>', 'why, for people')
    .option('--name <name>', 'name of the NodeMaintenance; default: made from the names of the nodes')
    .option('-w, --watch', 'show the progress until every node is drained')
    .option('--timeout <time>', 'watch at most so long, such as 90s, 20m or 1h30m; 0 for ever')
    .option('--force', 'drain even the last healthy member of the control plane, or break the quorum of etcd')
    .option('--dry-run', 'let the server check everything and change nothing; show what would leave');
  addClusterOptions(drain)
    .addHelpText('after', EXIT_CODES)
    .action(async (nodes: readonly string[], flags: DrainFlags) => {
      const { drainCommand } = await import('./drain.ts');
      exitWith(await drainCommand(nodes, flags, terminal));
    });
}

function addCordon(program: Command, terminal: Terminal, exitWith: ExitWith): void {
  const cordon = program
    .command('cordon')
    .summary('stop new pods on nodes')
    .description('Make nodes unschedulable by a NodeMaintenance in the stage Cordon, which "nodemaint drain" moves on.')
    .argument('<nodes...>', 'names of nodes: NAME or node/NAME')
    .option('--reason <text>', 'why, for people')
    .option('--name <name>', 'name of the NodeMaintenance; default: made from the names of the nodes')
    .option('--timeout <time>', 'wait at most so long for the controller; 0 for ever', '30s')
    .option('--dry-run', 'let the server check everything and change nothing');
  addClusterOptions(cordon)
    .addHelpText('after', EXIT_CODES.replace('with --watch: every node is drained', 'every node is unschedulable'))
    .action(async (nodes: readonly string[], flags: CordonFlags) => {
      const { cordonCommand } = await import('./cordon.ts');
      exitWith(await cordonCommand(nodes, flags, terminal));
    });
}

function addComplete(program: Command, terminal: Terminal, exitWith: ExitWith): void {
  const complete = program
    .command('complete')
    .summary('end maintenances and give their nodes back')
    .description(
      'End maintenances: the stage Complete. Evictions that are under way are called off, DaemonSet and static pods come back, and nodes are uncordoned unless a person had cordoned them, or another maintenance is over them.',
    )
    .argument('<names...>', 'nodes or maintenances: NAME, node/NAME or nm/NAME')
    .option('--delete', 'delete the NodeMaintenance afterwards')
    .option('--timeout <time>', 'wait at most so long for the controller; 0 for ever', '1m')
    .option('--dry-run', 'let the server check everything and change nothing');
  addClusterOptions(complete)
    .addHelpText('after', EXIT_CODES.replace('with --watch: every node is drained', 'every node is given back'))
    .action(async (names: readonly string[], flags: CompleteFlags) => {
      const { completeCommand } = await import('./complete.ts');
      exitWith(await completeCommand(names, flags, terminal));
    });
}

function addPreview(program: Command, terminal: Terminal, exitWith: ExitWith): void {
  const preview = program
    .command('preview')
    .summary('show what a drain would do, and what would block it')
    .description('Show what would leave nodes in which order, and what would hold it up. Changes nothing.')
    .argument('<nodes...>', 'names of nodes: NAME or node/NAME')
    .option('--plan <file>', 'drain plan, as for drain; default: that of the maintenance over the node')
    .option('--deadline <time>', 'show what grace periods would be left before a deadline, such as 120s');
  addClusterOptions(preview)
    .addHelpText(
      'after',
      EXIT_CODES.replace('; with --watch: every node is drained', ', whether or not anything would block'),
    )
    .action(async (nodes: readonly string[], flags: PreviewFlags) => {
      const { previewCommand } = await import('./preview.ts');
      exitWith(await previewCommand(nodes, flags, terminal));
    });
}

/** Adds the commands with which people keep nodes. */
export function addMaintenanceCommands(program: Command, terminal: Terminal, exitWith: ExitWith): void {
  addDrain(program, terminal, exitWith);
  addCordon(program, terminal, exitWith);
  addComplete(program, terminal, exitWith);
  addPreview(program, terminal, exitWith);
}
