import { type DrainPreview, previewDrain } from '../../show/preview/drain-preview.ts';
import {
  type ChangeFlags,
  type ClusterClients,
  formatMaintenance,
  watchFlags,
  watchTimeout,
  withCluster,
} from '../cluster/cluster.ts';
import { EXIT } from '../terminal/exit-code.ts';
import { type BeginFlags, beginMaintenance, type BegunMaintenance } from './begin.ts';
import { chosenNodes, dryRunText, parseNodeChoice } from './choice.ts';
import type { DryRun } from '../arguments/options.ts';
import { readPreviewFacts } from './preview.ts';
import { formatPreview } from './preview-table.ts';
import { columnsOf, type Terminal } from '../terminal/terminal.ts';
import { adviceFor, followMaintenance, nodeList } from '../follow/maintenance/follow.ts';

/** The flags of `nodemaint drain` as the command line has them. */
export interface DrainFlags extends ChangeFlags, BeginFlags {
  readonly watch?: boolean;
  readonly timeout?: string;
}

/** How a maintenance began, in the words of kubectl. */
function describeBegin({ maintenance, nodes, how }: BegunMaintenance, dryRun: DryRun | undefined): string {
  const names = nodeList(nodes.map(({ metadata }) => metadata.name));
  const verb = { created: 'created', changed: 'configured', 'already there': 'unchanged' }[how];
  const is = `nodemaintenance/${maintenance.metadata.name} ${verb}${dryRunText(dryRun)}`;
  return `${is}: ${names} will be drained\n`;
}

async function previews(
  cluster: ClusterClients,
  begun: BegunMaintenance,
  signal: AbortSignal,
): Promise<readonly DrainPreview[]> {
  const plan = begun.maintenance.spec.drainPlan ?? [];
  const leaving = begun.nodes.map(({ metadata }) => metadata.name);
  const result: DrainPreview[] = [];
  for (const { metadata } of begun.nodes) {
    const facts = await readPreviewFacts(cluster.maintenances, metadata.name, { plan, leaving }, signal);
    if (facts !== undefined) result.push(previewDrain(facts));
  }
  return result;
}

/**
 * `nodemaint drain`: creates a NodeMaintenance in the stage Drain for the nodes, or moves theirs on, and with --watch
 * follows it. Returns the exit code. Throws USAGE, KUBECONFIG_INVALID, API_UNREACHABLE, API_REFUSED.
 */
export async function drainCommand(names: readonly string[], flags: DrainFlags, terminal: Terminal): Promise<number> {
  const named = parseNodeChoice(names, flags.selector);
  const timeoutMs = watchTimeout(flags);
  const { dryRun } = flags;
  const watched = flags.watch === true ? watchFlags(flags) : undefined;
  return await withCluster(flags, 'nodemaint-drain', terminal, async (cluster) => {
    const nodes = await chosenNodes(cluster.maintenances, named, terminal.stop);
    const begun = await beginMaintenance(cluster.maintenances, { nodes, stage: 'Drain' }, flags, terminal);
    if (flags.output === 'table') terminal.write(describeBegin(begun, dryRun));
    if (watched !== undefined && dryRun === undefined) {
      return await followMaintenance(cluster, { maintenance: begun.maintenance, nodes, timeoutMs }, watched, terminal);
    }
    if (flags.output !== 'table') terminal.write(formatMaintenance(begun.maintenance, flags.output));
    else if (dryRun !== undefined) {
      for (const preview of await previews(cluster, begun, terminal.stop))
        terminal.write(formatPreview(preview, columnsOf(terminal)));
    } else if (terminal.isTerminal) terminal.write(adviceFor(begun.maintenance.metadata.name, flags));
    return EXIT.done;
  });
}
