import { type Timeline, timelineOf } from '../../show/story/timeline.ts';
import { usage } from '../arguments/parse.ts';
import { type ClusterFlags, parseTarget, withCluster } from '../cluster/cluster.ts';
import { formatDocument } from '../terminal/document.ts';
import { EXIT } from '../terminal/exit-code.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { reportDocument } from './document.ts';
import { drawHtml } from './html.ts';
import { openLocalStories, readClusterStories, readLocalStory } from './read.ts';
import { drawSvg } from './svg.ts';
import { formatReport } from './text.ts';

/** The flags of `nodemaint report`. */
export interface ReportFlags extends Omit<ClusterFlags, 'output'> {
  readonly config: string;
  readonly output: 'text' | 'json' | 'svg' | 'html';
}

const WIDTH_OF_FILES = 120;

function show(lines: readonly Timeline[], output: ReportFlags['output'], terminal: Terminal): void {
  const columns = terminal.isTerminal ? terminal.size().columns : WIDTH_OF_FILES;
  switch (output) {
    case 'text':
      terminal.write(lines.map((line) => formatReport(line, columns)).join('\n'));
      return;
    case 'html':
      terminal.write(drawHtml(lines));
      return;
    case 'svg': {
      const [first] = lines;
      if (first !== undefined && lines.length === 1) return terminal.write(drawSvg(first));
      throw usage(`-o svg draws one node, and this maintenance has ${lines.length}: use -o html`);
    }
    case 'json': {
      const [first] = lines;
      const one = lines.length === 1 && first !== undefined;
      terminal.write(
        one
          ? formatDocument('ShutdownReport', reportDocument(first), 'json')
          : formatDocument('ShutdownReportList', { items: lines.map(reportDocument) }, 'json'),
      );
    }
  }
}

/**
 * `nodemaint report [N | nm/NAME]`: one shutdown of this machine, or a maintenance of the cluster, as a time line. Returns the
 * exit code. Throws USAGE, CONFIG_INVALID, FILE_OPERATION_FAILED; for a maintenance the errors of `withCluster`.
 */
export async function reportCommand(what: string, flags: ReportFlags, terminal: Terminal): Promise<number> {
  if (/^\d+$/.test(what)) {
    const number = Number(what);
    if (number === 0) throw usage('there is no shutdown 0: the newest is 1; list them with: nodemaint history');
    const story = await readLocalStory(await openLocalStories(flags.config), number);
    show([timelineOf(story, terminal.now())], flags.output, terminal);
    return EXIT.done;
  }
  const { kind, name } = parseTarget(what);
  if (kind !== 'maintenance') {
    throw usage(`"${what}" is neither a number nor a maintenance: write a number of "nodemaint history", or nm/NAME`);
  }
  return await withCluster(flags, 'nodemaint-report', terminal, async (cluster) => {
    const stories = await readClusterStories(cluster, name, terminal.stop);
    show(
      stories.map((story) => timelineOf(story, terminal.now())),
      flags.output,
      terminal,
    );
    return EXIT.done;
  });
}
