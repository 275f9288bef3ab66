import { type DrainPreview, previewDrain } from '../../show/preview/drain-preview.ts';
import { type ChangeFlags, type ClusterClients, formatMaintenance, withCluster } from '../cluster/cluster.ts';
import { EXIT } from '../terminal/exit-code.ts';
import { type BeginFlags, beginMaintenance, type BegunMaintenance } from './begin.ts';
import { begunText, chosenNodes, parseNodeChoice } from './choice.ts';
import { parseTimeout, usage } from '../arguments/parse.ts';
import { readPreviewFacts } from './preview.ts';
import { formatPreview } from './preview-table.ts';
import { columnsOf, type Terminal } from '../terminal/terminal.ts';
import { adviceFor, followMaintenance, nodeList } from '../follow/maintenance/follow.ts';

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
  begun: BegunMaintenance,
  signal: AbortSignal,
): Promise<readonly DrainPreview[]> {
  const { drainPlan: plan = [], keepPods: keep = [] } = begun.maintenance.spec;
  const leaving = begun.nodes.map(({ metadata }) => metadata.name);
  const result: DrainPreview[] = [];
  for (const { metadata } of begun.nodes) {
    const facts = await readPreviewFacts(cluster.maintenances, metadata.name, { plan, keep, leaving }, signal);
    if (facts !== undefined) result.push(previewDrain(facts));
  }
  return result;
}

/** What is printed of a drain that is not followed. */
async function writeBegun(
  cluster: ClusterClients,
  begun: BegunMaintenance,
  flags: DrainFlags,
  terminal: Terminal,
): Promise<void> {
  if (flags.output !== 'table') terminal.write(formatMaintenance(begun.maintenance, flags.output));
  else if (flags.dryRun !== undefined) {
    for (const preview of await previews(cluster, begun, terminal.stop))
      terminal.say(formatPreview(preview, columnsOf(terminal)));
  } else if (terminal.isTerminal) terminal.say(adviceFor(begun.maintenance.metadata.name, flags));
}

/**
 * `nodemaint drain`: creates a NodeMaintenance in the stage Drain for the nodes, or moves theirs on, and follows it until
 * every node is drained. Returns the exit code. Throws USAGE, KUBECONFIG_INVALID, API_UNREACHABLE, API_REFUSED.
 */
export async function drainCommand(names: readonly string[], flags: DrainFlags, terminal: Terminal): Promise<number> {
  const named = parseNodeChoice(names, flags.selector);
  const wait = waitOf(flags);
  return await withCluster(flags, 'nodemaint-drain', terminal, async (cluster) => {
    const nodes = await chosenNodes(cluster.maintenances, named, terminal.stop);
    const begun = await beginMaintenance(cluster.maintenances, { nodes, stage: 'Drain' }, flags, terminal);
    if (flags.output === 'table')
      terminal.write(`${begunText(begun, flags.dryRun)}: ${nodeList(nodes)} will be drained\n`);
    if (wait === undefined) {
      await writeBegun(cluster, begun, flags, terminal);
      return EXIT.done;
    }
    // The name is the whole output then, as kubectl has it.
    if (flags.output === 'name') terminal.write(formatMaintenance(begun.maintenance, 'name'));
    return await followMaintenance(cluster, { maintenance: begun.maintenance, nodes, ...wait }, flags, terminal);
  });
}
