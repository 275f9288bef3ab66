import { type Command, Option } from 'commander';
import {
  addAccessOptions,
  configOption,
  type ExitWith,
  exitCodes,
  examples,
  outputOption,
} from '../arguments/options.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { HistoryFlags } from './history.ts';
import type { ReportFlags } from './report.ts';

/** Adds the commands that tell what the last shutdowns of this machine did. */
export function addReport(program: Command, terminal: Terminal, exitWith: ExitWith): void {
  const history = program
    .command('history')
    .summary('list the last shutdowns of this machine, or the drains of the cluster')
    .description(
      'List the last shutdowns of this machine: how long each was held, and what that added. With --cluster: the drains of the cluster that are over, as the controller has kept them.',
    )
    .argument('[nodes...]', 'with --cluster: the drains of these nodes alone')
    .option('--cluster', 'list the drains of the cluster that are over')
    .addOption(configOption())
    .addOption(outputOption());
  addAccessOptions(history)
    .addHelpText(
      'after',
      examples('sudo nodemaint history', 'sudo nodemaint history -o json', 'nodemaint history --cluster worker-1'),
    )
    .addHelpText('after', exitCodes({ 0: 'done', 1: 'the record cannot be read', 2: 'usage error' }))
    .action(async (nodes: string[], flags: HistoryFlags) => {
      const { historyCommand } = await import('./history.ts');
      exitWith(await historyCommand(nodes, flags, terminal));
    });

  const report = program
    .command('report')
    .summary('draw one shutdown as a time line')
    .description(
      'Draw one shutdown of this machine as a time line: each pod from first asked to gone, what it waited for, and what the hold added to the time of the applications. With nm/NAME: a maintenance of the cluster. The picture and the page are one file, and load and run nothing.',
    )
    .argument('[what]', 'number of a shutdown as "nodemaint history" lists them, or nm/NAME', '1')
    .addOption(configOption())
    .addOption(
      new Option('-o, --output <format>', 'output format').choices(['text', 'json', 'svg', 'html']).default('text'),
    );
  addAccessOptions(report)
    .addHelpText(
      'after',
      examples(
        'sudo nodemaint report',
        'sudo nodemaint report 2 -o html > shutdown.html',
        'nodemaint report nm/maintenance-worker-1',
      ),
    )
    .addHelpText(
      'after',
      exitCodes({ 0: 'done', 1: 'there is nothing to report, or it cannot be read', 2: 'usage error' }),
    )
    .action(async (what: string, flags: ReportFlags) => {
      const { reportCommand } = await import('./report.ts');
      exitWith(await reportCommand(what, flags, terminal));
    });
}
