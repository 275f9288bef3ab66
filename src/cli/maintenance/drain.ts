import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import { type DrainPreview, previewDrain } from '../../decide/view/drain-preview.ts';
import { createSystemClock } from '../../host/clock.ts';
import {
  type ClusterFlags,
  type Cluster,
  commandLine,
  EXIT,
  formatObject,
  parseNodes,
  watchTimeout,
  withCluster,
} from '../cluster.ts';
import { type BeginFlags, beginMaintenance, type BegunMaintenance } from './begin.ts';
import { createDrainScreen } from './watch/screen.ts';
import { watchDrain } from './watch/watch.ts';
import { readPreviewFacts } from './preview.ts';
import { formatPreview } from './preview-table.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** The flags of `nodemaint drain` as the command line has them. */
export interface DrainFlags extends ClusterFlags, BeginFlags {
  readonly watch?: boolean;
  readonly timeout?: string;
}

function nodeList(names: readonly string[]): string {
  return names.map((name) => `node/${name}`).join(', ');
}

/** How a maintenance began, in kubectl's words. */
function describeBegin({ maintenance, nodes, how }: BegunMaintenance, dryRun: boolean): string {
  const names = nodeList(nodes.map(({ metadata }) => metadata.name));
  const verb = { created: 'created', changed: 'configured', 'already there': 'unchanged' }[how];
  const is = `nodemaintenance/${maintenance.metadata.name} ${verb}${dryRun ? ' (server dry run)' : ''}`;
  return `${is}: ${names} ${nodes.length === 1 ? 'is' : 'are'} to be drained\n`;
}

/** How people go on with a maintenance, or end it. */
function adviceFor(name: string, flags: ClusterFlags): string {
  const watch = commandLine(flags, 'status', `nm/${name}`, '--watch');
  const complete = commandLine(flags, 'complete', `nm/${name}`);
  return `Watch it with:  ${watch}\nEnd it and give the nodes back with:  ${complete}\n`;
}

/** Watches a maintenance to the end and says how it ended; the exit code (docs/commands.md). */
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

async function previews(
  cluster: Cluster,
  begun: BegunMaintenance,
  signal: AbortSignal,
): Promise<readonly DrainPreview[]> {
  const plan = begun.maintenance.spec.drainPlan ?? [];
  const result: DrainPreview[] = [];
  for (const { metadata } of begun.nodes) {
    const facts = await readPreviewFacts(cluster.maintenances, metadata.name, plan, signal);
    if (facts !== undefined) result.push(previewDrain(facts));
  }
  return result;
}

/**
 * `nodemaint drain`: makes a NodeMaintenance in the stage Drain for the nodes, or moves theirs on, and with --watch follows
 * it. Returns the exit code. Throws USAGE, KUBECONFIG_INVALID, API_UNREACHABLE, API_REFUSED.
 */
export async function drainCommand(names: readonly string[], flags: DrainFlags, terminal: Terminal): Promise<number> {
  const nodes = parseNodes(names);
  const timeoutMs = watchTimeout(flags);
  const dryRun = flags.dryRun === true;
  return await withCluster(flags, 'nodemaint-drain', terminal, async (cluster) => {
    const begun = await beginMaintenance(cluster.maintenances, nodes, 'Drain', flags, terminal);
    if (flags.output === 'table') terminal.write(describeBegin(begun, dryRun));
    if (flags.watch === true && !dryRun) {
      return await followMaintenance(cluster, begun.maintenance, nodes, flags, timeoutMs, terminal);
    }
    if (flags.output !== 'table') terminal.write(formatObject(begun.maintenance, flags.output));
    else if (dryRun) {
      for (const preview of await previews(cluster, begun, terminal.stop)) terminal.write(formatPreview(preview));
    } else if (terminal.isTerminal) terminal.write(adviceFor(begun.maintenance.metadata.name, flags));
    return EXIT.done;
  });
}
