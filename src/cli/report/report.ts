import { timelineOf, type Timeline } from '../../show/story/timeline.ts';
import { usage } from '../arguments/parse.ts';
import { formatDocument } from '../terminal/document.ts';
import { EXIT } from '../terminal/exit-code.ts';
import { type Terminal, columnsOf } from '../terminal/terminal.ts';
import { drawSvg } from './svg.ts';
import { formatReport } from './text.ts';
import { preciseRfc3339, rfc3339 } from '../../decide/time.ts';
import { openStoryFiles, type StoryFiles, storyDirectory } from '../../agent/shutdown/story-files.ts';
import { loadAgentConfig } from '../../config/load.ts';
import type { ShutdownStory } from '../../decide/story/story.ts';
import { describeError, errorCodeOf, NodemaintError } from '../../errors.ts';
import { formatSpan } from '../../decide/duration.ts';
import { formatTable } from '../terminal/table.ts';
import { outcomeText } from './words.ts';

/** The stories of this machine. */
interface LocalStories {
  readonly directory: string;
  readonly files: StoryFiles;
  /** When each shutdown began, the newest first. */
  readonly times: readonly number[];
}

/** Opens the stories of this machine's agent. Throws CONFIG_INVALID, and FILE_OPERATION_FAILED where they cannot be read. */
async function openLocalStories(configPath: string): Promise<LocalStories> {
  const { stateDirectory } = await loadAgentConfig(configPath);
  const directory = storyDirectory(stateDirectory);
  const files = openStoryFiles(stateDirectory);
  try {
    return { directory, files, times: await files.list() };
  } catch (error) {
    const who = errorCodeOf(error) === 'EACCES' ? '; only root may read it: use sudo' : '';
    const message = `cannot read the shutdowns in ${directory}: ${describeError(error)}${who}`;
    throw new NodemaintError('FILE_OPERATION_FAILED', message, { cause: error });
  }
}

/** The story number `number` of this machine, where 1 is the newest. Throws USAGE, FILE_OPERATION_FAILED. */
async function readLocalStory({ directory, files, times }: LocalStories, number: number): Promise<ShutdownStory> {
  if (times.length === 0) {
    throw new NodemaintError('FILE_OPERATION_FAILED', `no shutdown is recorded in ${directory} yet`);
  }
  const begunAt = times[number - 1];
  if (begunAt === undefined) {
    throw usage(`there is no shutdown ${number}: ${times.length} are recorded; list them with: nodemaint history`);
  }
  const story = await files.read(begunAt);
  if (story !== undefined) return story;
  const what = `${directory}/${begunAt}.json is damaged, or was written by another version of nodemaint`;
  throw new NodemaintError('FILE_OPERATION_FAILED', what);
}

function seconds(ms: number): number {
  return Math.round(ms) / 1000;
}

/** The content of the document ShutdownReport. */
function reportDocument(line: Timeline): object {
  const { spent } = line;
  return {
    node: line.node,
    maintenance: line.maintenance,
    origin: line.origin,
    reason: line.reason,
    outcome: line.outcome,
    ...(line.why === undefined ? {} : { why: line.why }),
    began: preciseRfc3339(line.from),
    ended: preciseRfc3339(line.to),
    heldSeconds: seconds(spent.heldMs),
    addedSeconds: seconds(spent.addedMs),
    spentSeconds: {
      ending: seconds(spent.endingMs),
      interceptors: seconds(spent.interceptorMs),
      waiting: seconds(spent.waitingMs),
      between: seconds(spent.betweenMs),
    },
    ...(line.awayMs === undefined ? {} : { awaySeconds: seconds(line.awayMs) }),
    causes: line.causes.map(({ text, kind, pods, ms }) => ({ text, kind, pods, seconds: seconds(ms) })),
    ...(line.kubeletEnds === undefined ? {} : { kubeletEndedPods: line.kubeletEnds }),
    ...(line.budgetsNotAsked === undefined ? {} : { budgetsNotAsked: line.budgetsNotAsked }),
    pods: { total: line.pods, left: line.podsLeft, notRecorded: line.podsLeftOut },
    tiers: line.tiers.map(({ name, from, to, rows }) => ({
      name,
      began: preciseRfc3339(from),
      ended: preciseRfc3339(to),
      pods: rows.map((row) => ({
        pod: row.pod,
        asked: preciseRfc3339(row.from),
        ...(row.gone ? { gone: preciseRfc3339(row.to) } : {}),
        spans: row.spans.map((span) => ({
          from: preciseRfc3339(span.from),
          to: preciseRfc3339(span.to),
          kind: span.kind,
          text: span.text,
        })),
      })),
    })),
    moments: line.moments.map(({ at, text }) => ({ at: preciseRfc3339(at), text })),
  };
}

/** The flags of `nodemaint report`. */
export interface ReportFlags {
  readonly config: string;
  readonly output: 'text' | 'json' | 'svg';
}

const WIDTH_OF_FILES = 120;

/**
 * `nodemaint report [N]`: one shutdown of this machine as a time line. Returns the exit code. Throws USAGE, CONFIG_INVALID,
 * FILE_OPERATION_FAILED.
 */
export async function reportCommand(number: string, flags: ReportFlags, terminal: Terminal): Promise<number> {
  if (!/^[1-9]\d{0,3}$/.test(number)) {
    throw usage(`"${number}" is no number of a shutdown: the newest is 1; list them with: nodemaint history`);
  }
  const story = await readLocalStory(await openLocalStories(flags.config), Number(number));
  const line = timelineOf(story, terminal.now());
  const columns = terminal.isTerminal ? terminal.size().columns : WIDTH_OF_FILES;
  const write = {
    text: () => formatReport(line, columns),
    json: () => formatDocument('ShutdownReport', reportDocument(line), 'json'),
    svg: () => drawSvg(line),
  };
  terminal.write(write[flags.output]());
  return EXIT.done;
}

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
