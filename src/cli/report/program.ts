import { type Command, Option } from 'commander';
import { configOption, type ExitWith, exitCodes, examples, outputOption } from '../arguments/options.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { HistoryFlags, ReportFlags } from './report.ts';

/** Adds the commands that tell what the last shutdowns of this machine did. */
export function addReport(program: Command, terminal: Terminal, exitWith: ExitWith): void {
  program
    .command('history')
    .summary('list the last shutdowns of this machine')
    .description('List the last shutdowns of this machine: how long each was held, and what that added.')
    .addOption(configOption())
    .addOption(outputOption())
    .addHelpText(...examples('sudo nodemaint history', 'sudo nodemaint history -o json'))
    .addHelpText(...exitCodes({ 0: 'done', 1: 'the record cannot be read' }))
    .action(async (flags: HistoryFlags) => {
      const { historyCommand } = await import('./report.ts');
      exitWith(await historyCommand(flags, terminal));
    });

  program
    .command('report')
    .summary('draw one shutdown as a time line')
    .description(
      'Draw one shutdown of this machine as a time line: each pod from first asked to gone, what it waited for, and what the hold added to the time of the applications. The picture is one file that loads and runs nothing.',
    )
    .argument('[number]', 'number of a shutdown as "nodemaint history" lists them', '1')
    .addOption(configOption())
    .addOption(new Option('-o, --output <format>', 'output format').choices(['text', 'json', 'svg']).default('text'))
    .addHelpText(...examples('sudo nodemaint report', 'sudo nodemaint report 2 -o svg > shutdown.svg'))
    .addHelpText(...exitCodes({ 0: 'done', 1: 'there is nothing to report, or it cannot be read' }))
    .action(async (number: string, flags: ReportFlags) => {
      const { reportCommand } = await import('./report.ts');
      exitWith(await reportCommand(number, flags, terminal));
    });
}
