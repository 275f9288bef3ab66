import type { NodeMaintenance } from '../../../api/node-maintenance.ts';
import { createSystemClock } from '../../../host/clock.ts';
import { type Cluster, type ClusterFlags, commandLine } from '../../cluster.ts';
import { EXIT } from '../../terminal/exit-code.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { createDrainScreen } from './screen.ts';
import { watchDrain } from './watch.ts';

/** Watches a maintenance to the end and says how it ended; the exit code (docs/reference/commands.md). */
export async function followMaintenance(
  { client }: Cluster,
  maintenance: NodeMaintenance,
  nodes: readonly string[],
  flags: ClusterFlags,
  timeoutMs: number | undefined,
  terminal: Terminal,
): Promise<number> {
  const { name, uid = '' } = maintenance.metadata;
  const screen = createDrainScreen(terminal, flags.output);
  const context = { client, clock: createSystemClock(), screen };
  const { ending, view } = await watchDrain({ name, uid, nodes }, context, timeoutMs, terminal.stop);
  const left = (view?.nodes ?? []).filter(({ drained }) => !drained).map((node) => node.name);
  const notYet = left.length === 0 ? '' : `; not drained yet: ${nodeList(left)}`;
  const stays = `the maintenance goes on without this command${notYet}`;
  switch (ending) {
    case 'drained': {
      if (flags.output !== 'table') return EXIT.done;
      const complete = commandLine(flags, 'complete', `nm/${name}`);
      terminal.write(`Give the nodes back with:  ${complete}\n`);
      return EXIT.done;
    }
    case 'completed':
    case 'deleted': {
      if (view?.drained === true || (ending === 'completed' && left.length === 0)) return EXIT.done;
      const how = ending === 'completed' ? 'completed' : 'deleted';
      terminal.warn(`nodemaint: somebody ${how} nodemaintenance/${name}${notYet}\n`);
      return EXIT.failed;
    }
    case 'timeout':
      terminal.warn(`nodemaint: the --timeout is over; ${stays}\n${adviceFor(name, flags)}`);
      return EXIT.timedOut;
    case 'interrupted':
      terminal.warn(`nodemaint: interrupted; ${stays}\n${adviceFor(name, flags)}`);
      return EXIT.failed;
  }
}

/** How people go on with a maintenance, or end it. */
export function adviceFor(name: string, flags: ClusterFlags): string {
  const watch = commandLine(flags, 'status', `nm/${name}`, '--watch');
  const complete = commandLine(flags, 'complete', `nm/${name}`);
  return `Watch it with:  ${watch}\nEnd it and give the nodes back with:  ${complete}\n`;
}
export function nodeList(names: readonly string[]): string {
  return names.map((name) => `node/${name}`).join(', ');
}
