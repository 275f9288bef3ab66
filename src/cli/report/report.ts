import { timelineOf } from '../../show/story/timeline.ts';
import { usage } from '../arguments/parse.ts';
import { formatDocument } from '../terminal/document.ts';
import { EXIT } from '../terminal/exit-code.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { reportDocument } from './document.ts';
import { openLocalStories, readLocalStory } from './read.ts';
import { drawSvg } from './svg.ts';
import { formatReport } from './text.ts';

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
