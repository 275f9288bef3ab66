import { type DrainPreview, previewDrain } from '../../show/preview/drain-preview.ts';
import { type ChangeFlags, type ClusterClients, withCluster } from '../cluster/cluster.ts';
import { EXIT } from '../terminal/exit-code.ts';
import { type BeginFlags, beginMaintenances, type BegunMaintenance } from './begin.ts';
import { begunText, chosenNodes, formatBegun, parseNodeChoice } from './choice.ts';
import { parseTimeout, usage } from '../arguments/parse.ts';
import { readPreviewFacts } from './preview.ts';
import { formatPreview } from './preview-table.ts';
import { columnsOf, type Terminal } from '../terminal/terminal.ts';
import { adviceFor, followMaintenances, nodeList } from '../follow/maintenance/follow.ts';

/** The flags of `nodemaint drain` as the command line has them. */
export interface DrainFlags extends ChangeFlags, BeginFlags {
  /** False for a command that returns as soon as the drain has been asked for. */
  readonly wait: boolean;
  readonly timeout: string;
}

/** How long to wait for the drain in milliseconds, and how to show it; undefined where the command does not wait. Throws USAGE. */
function waitOf(flags: DrainFlags): { readonly timeoutMs: number | undefined } | undefined {
  const timeoutMs = parseTimeout(flags.timeout);
  if (!flags.wait) {
    if (timeoutMs !== undefined) throw usage('--timeout cannot be used with --no-wait');
    return undefined;
  }
  return flags.dryRun === undefined ? { timeoutMs } : undefined;
}

async function previews(
  cluster: ClusterClients,
  begun: readonly BegunMaintenance[],
  signal: AbortSignal,
): Promise<readonly DrainPreview[]> {
  const leaving = begun.flatMap(({ nodes }) => nodes);
  const facts = begun.flatMap(({ maintenance, nodes }) => {
    const { drainPlan: plan = [], keepPods: keep = [] } = maintenance.spec;
    const scope = { plan, keep, leaving };
    return nodes.map((name) => readPreviewFacts(cluster.maintenances, name, scope, signal));
  });
  return (await Promise.all(facts)).flatMap((each) => (each === undefined ? [] : previewDrain(each)));
}

/** What is printed of drains that are not followed. */
async function writeBegun(
  cluster: ClusterClients,
  begun: readonly BegunMaintenance[],
  flags: DrainFlags,
  terminal: Terminal,
): Promise<void> {
  if (flags.output !== 'table') terminal.write(formatBegun(begun, flags.output));
  else if (flags.dryRun !== undefined) {
    for (const preview of await previews(cluster, begun, terminal.stop))
      terminal.say(formatPreview(preview, columnsOf(terminal)));
  } else if (terminal.isTerminal) {
    for (const { maintenance } of begun) terminal.say(adviceFor(maintenance, flags));
  }
}

/**
 * `nodemaint drain`: creates a NodeMaintenance in the stage Drain for each node, or one for all of them, or moves theirs on, and
 * follows them until every node is drained. Returns the exit code. Throws USAGE, KUBECONFIG_INVALID, API_UNREACHABLE, API_REFUSED.
 */
export async function drainCommand(names: readonly string[], flags: DrainFlags, terminal: Terminal): Promise<number> {
  const named = parseNodeChoice(names, flags.selector);
  const wait = waitOf(flags);
  return await withCluster(flags, 'nodemaint-drain', terminal, async (cluster) => {
    const nodes = await chosenNodes(cluster.maintenances, named, terminal.stop);
    const begun = await beginMaintenances(cluster.maintenances, { nodes, stage: 'Drain' }, flags, terminal);
    if (flags.output === 'table')
      for (const each of begun)
        terminal.write(`${begunText(each, flags.dryRun)}: ${nodeList(each.nodes)} will be drained\n`);
    if (wait === undefined) {
      await writeBegun(cluster, begun, flags, terminal);
      return EXIT.done;
    }
    // The names are the whole output then, as kubectl has it.
    if (flags.output === 'name') terminal.write(formatBegun(begun, 'name'));
    return await followMaintenances(cluster, begun, { ...flags, ...wait }, terminal);
  });
}
