/** Lists the last shutdowns of this machine. */
import { formatSpan } from '../../decide/duration.ts';
import { rfc3339 } from '../../decide/time.ts';
import { type Timeline, timelineOf } from '../../show/story/timeline.ts';
import { formatDocument } from '../terminal/document.ts';
import { EXIT } from '../terminal/exit-code.ts';
import { columnsOf, type Terminal } from '../terminal/terminal.ts';
import { formatTable } from '../terminal/text.ts';
import { reportDocument } from './document.ts';
import { openLocalStories } from './read.ts';
import { outcomeText } from './words.ts';

/** The flags of `nodemaint history`. */
export interface HistoryFlags {
  readonly config: string;
  readonly output: 'table' | 'json' | 'yaml';
}

/** What a line of the list has for programs: the report without its pods. */
function summaryOf(line: Timeline): object {
  const { tiers: _tiers, moments: _moments, ...rest } = reportDocument(line) as Record<string, unknown>;
  return rest;
}

/** A recorded shutdown; without its time line where its file cannot be read. */
interface HistoryLine {
  readonly number: number;
  /** When it began, in milliseconds since the epoch. */
  readonly at: number;
  readonly line: Timeline | undefined;
}

/** The recorded shutdowns as a table. */
export function historyTable(lines: readonly HistoryLine[], columns: number): string {
  const rows = lines.map(({ number, at, line }) =>
    line === undefined
      ? [String(number), rfc3339(at), '-', '-', '-', 'this file cannot be read']
      : [
          String(number),
          rfc3339(line.from),
          formatSpan(line.spent.heldMs),
          formatSpan(line.spent.addedMs),
          String(line.pods),
          `${line.reason}: ${outcomeText(line)}`,
        ],
  );
  return `${formatTable([['NUMBER', 'BEGAN', 'HELD', 'ADDED', 'PODS', 'WHAT HAPPENED'], ...rows], columns)}\n`;
}

/**
 * `nodemaint history`: the last shutdowns of this machine. Returns the exit code. Throws CONFIG_INVALID, FILE_OPERATION_FAILED.
 */
export async function historyCommand({ config, output }: HistoryFlags, terminal: Terminal): Promise<number> {
  const local = await openLocalStories(config);
  const lines: HistoryLine[] = [];
  for (const [index, at] of local.times.entries()) {
    const story = await local.files.read(at);
    lines.push({ number: index + 1, at, line: story && timelineOf(story, terminal.now()) });
  }
  if (output !== 'table') {
    const items = lines.flatMap(({ number, line }) => (line === undefined ? [] : [{ number, ...summaryOf(line) }]));
    terminal.write(formatDocument('ShutdownHistory', { items }, output));
    return EXIT.done;
  }
  if (lines.length === 0) {
    terminal.write(`No shutdown of this machine is recorded in ${local.directory} yet.\n`);
    return EXIT.done;
  }
  terminal.write(historyTable(lines, columnsOf(terminal)));
  return EXIT.done;
}
