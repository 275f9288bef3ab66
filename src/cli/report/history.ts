/** Lists what was recorded: the last shutdowns of this machine, or the drains of the cluster that are over. */
import { CONTROLLER_NAMESPACE } from '../../api/lease.ts';
import { formatSpan } from '../../decide/duration.ts';
import { rfc3339 } from '../../decide/time.ts';
import { type ReadStory, readKeptStories } from '../../kube/maintenance/kept-stories.ts';
import { type Timeline, timelineOf } from '../../show/story/timeline.ts';
import { usage } from '../arguments/parse.ts';
import { type ClusterFlags, parseNodes, withCluster } from '../cluster/cluster.ts';
import { formatDocument } from '../terminal/document.ts';
import { EXIT } from '../terminal/exit-code.ts';
import { columnsOf, type Terminal } from '../terminal/terminal.ts';
import { formatTable } from '../terminal/text.ts';
import { reportDocument } from './document.ts';
import { openLocalStories } from './read.ts';
import { outcomeText } from './words.ts';

/** The flags of `nodemaint history`. */
export interface HistoryFlags extends ClusterFlags {
  readonly config: string;
  readonly cluster?: boolean;
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

/** The last shutdowns of this machine. */
async function localHistory({ config, output }: HistoryFlags, terminal: Terminal): Promise<number> {
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

/** A drain of the cluster on one node; without its time line where it cannot be read. */
interface DrainLine extends Pick<ReadStory, 'entry'> {
  readonly node: string;
  readonly line: Timeline | undefined;
}

/** The drains that are over as a table. */
function drainsTable(lines: readonly DrainLine[], columns: number): string {
  const rows = lines.map(({ entry, node, line }) =>
    line === undefined
      ? [rfc3339(entry.at), '-', '-', '-', entry.maintenance, '-', 'it cannot be read']
      : [
          rfc3339(line.from),
          node,
          formatSpan(line.spent.heldMs),
          String(line.pods),
          entry.maintenance,
          line.requestedBy ?? '-',
          line.reason === '' ? outcomeText(line) : `${line.reason}: ${outcomeText(line)}`,
        ],
  );
  const head = ['BEGAN', 'NODE', 'TOOK', 'PODS', 'MAINTENANCE', 'ASKED BY', 'WHAT HAPPENED'];
  return `${formatTable([head, ...rows], columns)}\n`;
}

/** The drains of the cluster that are over, of these nodes alone where some are named. */
async function clusterHistory(nodes: readonly string[], flags: HistoryFlags, terminal: Terminal): Promise<number> {
  const wanted = new Set(parseNodes(nodes));
  return await withCluster(flags, 'nodemaint-history', terminal, async ({ client }) => {
    const read = await readKeptStories(client, CONTROLLER_NAMESPACE, terminal.stop);
    const all = read.flatMap(({ entry, story }): readonly DrainLine[] => {
      if (story === undefined) return [{ entry, node: '-', line: undefined }];
      return story.nodes.map((each) => ({ entry, node: each.node, line: timelineOf(each, terminal.now()) }));
    });
    const lines = wanted.size === 0 ? all : all.filter(({ node }) => wanted.has(node));
    if (flags.output !== 'table') {
      const items = lines.flatMap(({ line }) => (line === undefined ? [] : [summaryOf(line)]));
      terminal.write(formatDocument('DrainHistory', { items }, flags.output));
      return EXIT.done;
    }
    const what = wanted.size === 0 ? '' : ` of ${[...wanted].join(', ')}`;
    const none = `No drain${what} that is over is recorded in the cluster. The controller keeps them with --kept-stories.\n`;
    terminal.write(lines.length === 0 ? none : drainsTable(lines, columnsOf(terminal)));
    return EXIT.done;
  });
}

/**
 * `nodemaint history [NODE…]`: the last shutdowns of this machine, or with --cluster the drains of the cluster that are over.
 * Returns the exit code. Throws USAGE, CONFIG_INVALID, FILE_OPERATION_FAILED; for the cluster the errors of `withCluster`.
 */
export async function historyCommand(
  nodes: readonly string[],
  flags: HistoryFlags,
  terminal: Terminal,
): Promise<number> {
  if (flags.cluster === true) return await clusterHistory(nodes, flags, terminal);
  if (nodes.length > 0) throw usage('nodes are named with --cluster: without it this machine alone is listed');
  return await localHistory(flags, terminal);
}
