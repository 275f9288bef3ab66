import { type Command, InvalidArgumentError, Option } from 'commander';
import { KEEP_WORDS } from '../../decide/kept-pods/consent.ts';
import {
  addClusterOptions,
  dryRunOption,
  type ExitWith,
  examples,
  exitCodes,
  selectorOption,
  waitTimeoutOption,
} from '../arguments/options.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { CompleteFlags } from './complete.ts';
import type { CordonFlags } from './cordon.ts';
import type { DrainFlags } from './drain.ts';
import type { PreviewFlags } from './preview.ts';

const TIMED_OUT = { 3: '--timeout is over' };
const NODES = 'names of nodes: NAME or node/NAME';
const NAME = 'name of the NodeMaintenance; default: made from the names of its nodes';
const TOGETHER = 'one NodeMaintenance for all nodes, which go from tier to tier together; default: one for each';

/** The flag --keep: kinds of pods that stay. */
function keepOption(): Option {
  const words = Object.keys(KEEP_WORDS);
  const option = new Option('--keep <kinds>', 'pods that stay on the nodes, separated by commas').choices(words);
  return option.argParser((text) =>
    text.split(',').map((word) => {
      const kind = Object.entries(KEEP_WORDS).find(([each]) => each === word.trim())?.[1];
      if (kind === undefined) throw new InvalidArgumentError(`Allowed kinds are ${words.join(', ')}.`);
      return kind;
    }),
  );
}

function addDrain(program: Command, terminal: Terminal, exitWith: ExitWith): void {
  const drain = program
    .command('drain')
    .summary('remove all pods from nodes, in order')
    .description(
      'Remove all pods from nodes, in the order of the drain plan, and wait until every node is drained. Creates a NodeMaintenance for each of them, in the stage Drain, which continues without this command. Pods leave through EvictionRequests. DaemonSet pods and static pods leave too, and stay away until the maintenance is completed; --keep leaves them alone. Pods that no controller owns, and pods with data in emptyDir volumes, need a flag: without it nothing is done.',
    )
    .argument('[nodes...]', NODES)
    .addOption(selectorOption())
    .option(
      '--plan <file>',
      'drain plan: a list of entries, an object with drainPlan, or a KubeletConfiguration; - for standard input',
    )
    .option('--reason <text>', 'why, for people')
    .option('--name <name>', NAME)
    .option('--together', TOGETHER)
    .addOption(keepOption())
    .option('--delete-unmanaged', 'also remove pods that no controller owns, so that nothing creates them again')
    .option('--delete-emptydir-data', 'also remove pods whose data in emptyDir volumes is lost')
    .option('--no-wait', 'return as soon as the drain has been asked for; it goes on without this command')
    .addOption(waitTimeoutOption('the drain', '0'))
    .option('--break-quorum', 'drain even the last healthy member of the control plane, or break the quorum of etcd')
    .addOption(dryRunOption('; show which pods would leave'));
  addClusterOptions(drain, 'name')
    .addHelpText(
      ...examples('nodemaint drain worker-1 --reason "kernel update"', 'nodemaint drain -l pool=web --dry-run'),
    )
    .addHelpText(
      ...exitCodes({ 0: 'every node is drained; with --no-wait: the drain has been asked for', ...TIMED_OUT }),
    )
    .action(async (nodes: readonly string[], flags: DrainFlags) => {
      const { drainCommand } = await import('./drain.ts');
      exitWith(await drainCommand(nodes, flags, terminal));
    });
}

function addCordon(program: Command, terminal: Terminal, exitWith: ExitWith): void {
  const cordon = program
    .command('cordon')
    .summary('make nodes unschedulable')
    .description(
      'Make nodes unschedulable by NodeMaintenances in the stage Cordon. "nodemaint drain" moves them on to the stage Drain.',
    )
    .argument('[nodes...]', NODES)
    .addOption(selectorOption())
    .option('--reason <text>', 'why, for people')
    .option('--name <name>', NAME)
    .option('--together', TOGETHER)
    .addOption(waitTimeoutOption('the controller', '30s'))
    .addOption(dryRunOption());
  addClusterOptions(cordon, 'name')
    .addHelpText(...examples('nodemaint cordon worker-1 worker-2', 'nodemaint cordon -l pool=web'))
    .addHelpText(...exitCodes({ 0: 'done; every node is unschedulable', ...TIMED_OUT }))
    .action(async (nodes: readonly string[], flags: CordonFlags) => {
      const { cordonCommand } = await import('./cordon.ts');
      exitWith(await cordonCommand(nodes, flags, terminal));
    });
}

function addComplete(program: Command, terminal: Terminal, exitWith: ExitWith): void {
  const complete = program
    .command('complete')
    .summary('end maintenances and uncordon their nodes')
    .description(
      'End maintenances: move them to the stage Complete. Evictions under way are canceled, DaemonSet pods and static pods come back, and nodes are uncordoned unless a person had cordoned them or another maintenance covers them.',
    )
    .argument('[names...]', 'nodes or maintenances: NAME, node/NAME or nm/NAME')
    .addOption(selectorOption())
    .option('--delete', 'delete the NodeMaintenance afterwards')
    .addOption(waitTimeoutOption('the controller', '1m'))
    .addOption(dryRunOption());
  addClusterOptions(complete, 'name')
    .addHelpText(...examples('nodemaint complete worker-1', 'nodemaint complete nm/maintenance-worker-1 --delete'))
    .addHelpText(...exitCodes({ 0: 'done; the maintenances are completed', ...TIMED_OUT }))
    .action(async (names: readonly string[], flags: CompleteFlags) => {
      const { completeCommand } = await import('./complete.ts');
      exitWith(await completeCommand(names, flags, terminal));
    });
}

function addPreview(program: Command, terminal: Terminal, exitWith: ExitWith): void {
  const preview = program
    .command('preview')
    .summary('show what a drain would do, and what would block it')
    .description('Show which pods would leave nodes, in which order, and what would block them. Changes nothing.')
    .argument('[nodes...]', NODES)
    .addOption(selectorOption())
    .option('--plan <file>', 'drain plan, as for drain; default: the plan of the maintenance that covers the node')
    .option('--exit-code', 'exit with 4 where something would block, or drain needs a flag for a pod');
  addClusterOptions(preview)
    .addHelpText(...examples('nodemaint preview worker-1', 'nodemaint preview -l pool=web -o json'))
    .addHelpText(
      ...exitCodes({
        0: 'done; with --exit-code: nothing would block',
        4: 'with --exit-code: something would block, or drain needs a flag for a pod',
      }),
    )
    .action(async (nodes: readonly string[], flags: PreviewFlags) => {
      const { previewCommand } = await import('./preview.ts');
      exitWith(await previewCommand(nodes, flags, terminal));
    });
}

/** Adds the commands that prepare, begin and end the maintenance of nodes. */
export function addMaintenanceCommands(program: Command, terminal: Terminal, exitWith: ExitWith): void {
  addPreview(program, terminal, exitWith);
  addCordon(program, terminal, exitWith);
  addDrain(program, terminal, exitWith);
  addComplete(program, terminal, exitWith);
}
