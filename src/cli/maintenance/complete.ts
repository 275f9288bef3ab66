import { COMPLETION_FINALIZER } from '../../api/names.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node } from '../../api/pod.ts';
import { agentNodeOf, isInProgress, selectsNode, stageOf } from '../../decide/maintenance/maintenance.ts';
import { chooseForCompletion, nodesOf } from '../../decide/maintenance/named-target.ts';
import {
  type ClusterClients,
  type ChangeFlags,
  formatMaintenance,
  parseTarget,
  withCluster,
} from '../cluster/cluster.ts';
import { EXIT } from '../terminal/exit-code.ts';
import { chosenNodes, dryRunText, noTarget, parseNodeChoice } from './choice.ts';
import type { DryRun } from '../arguments/options.ts';
import { parseTimeout } from '../arguments/parse.ts';
import { type AwaitedNode, waitForNodes } from '../cluster/wait-for-nodes.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** The flags of `nodemaint complete` as the command line has them. */
export interface CompleteFlags extends ChangeFlags {
  readonly delete?: boolean;
  readonly dryRun?: DryRun | undefined;
  readonly selector?: string;
  readonly timeout: string;
}

/** What became of a node, in the words of kubectl. */
function nodeText(node: Node, others: readonly NodeMaintenance[]): string {
  const is = `node/${node.metadata.name}`;
  if (node.spec?.unschedulable !== true) return `${is} uncordoned\n`;
  const names = others.filter((other) => isInProgress(other) && selectsNode(other, node));
  const why =
    names.length > 0
      ? `nodemaintenance/${names.map(({ metadata }) => metadata.name).join(', ')} is in progress`
      : `a person had cordoned it; see: kubectl uncordon ${node.metadata.name}`;
  return `${is} stays cordoned: ${why}\n`;
}

function isFinished({ maintenance }: AwaitedNode): boolean {
  return maintenance === undefined || maintenance.metadata.finalizers?.includes(COMPLETION_FINALIZER) !== true;
}

/** The maintenance to complete, and the nodes of the cluster. */
interface CompleteTarget {
  readonly known: NodeMaintenance;
  readonly nodes: readonly Node[];
}

/** Waits until the maintenance is completed, and writes what became of its nodes. Returns the exit code. */
async function awaitCompletion(
  { client, maintenances }: ClusterClients,
  { known, nodes }: CompleteTarget,
  flags: CompleteFlags,
  terminal: Terminal,
): Promise<number> {
  const { name } = known.metadata;
  const isDeleting = flags.delete === true;
  const isDone = (now: AwaitedNode): boolean => isFinished(now) && (!isDeleting || now.maintenance === undefined);
  const timeoutMs = parseTimeout(flags.timeout);
  const awaited = { maintenance: name, nodes: nodesOf(known, nodes), isDone, timeoutMs };
  const { ending, observed } = await waitForNodes(awaited, client, terminal.stop);
  if (ending !== 'done') {
    const why =
      ending === 'interrupted'
        ? 'interrupted; the completion continues without this command'
        : 'no controller completed it in time; is nodemaint controller running?';
    terminal.warn(`nodemaint: nodemaintenance/${name} completion pending: ${why}\n`);
    return ending === 'interrupted' ? EXIT.failed : EXIT.timedOut;
  }
  if (flags.output !== 'table') return EXIT.done;
  const before = stageOf(known);
  if (before !== 'Complete') terminal.write(`nodemaintenance/${name} completed\n`);
  if (before !== 'Idle' && before !== 'Complete') {
    const others = (await maintenances.maintenances(terminal.stop)).filter(({ metadata }) => metadata.name !== name);
    for (const node of observed.nodes) terminal.write(nodeText(node, others));
  }
  if (isDeleting) terminal.write(`nodemaintenance "${name}" deleted\n`);
  return EXIT.done;
}

/** Completes one maintenance, and deletes it with --delete. Returns the exit code. */
async function completeOne(
  cluster: ClusterClients,
  target: CompleteTarget,
  flags: CompleteFlags,
  terminal: Terminal,
): Promise<number> {
  const { known } = target;
  const { name } = known.metadata;
  const isDry = flags.dryRun !== undefined;
  const changed =
    flags.dryRun === 'client'
      ? { ...known, spec: { ...known.spec, stage: 'Complete' as const } }
      : await cluster.maintenances.change(known, { spec: { stage: 'Complete' } }, isDry, terminal.stop);
  if (changed === undefined) {
    terminal.warn(`nodemaint: nodemaintenances "${name}" not found: it was deleted in the meantime\n`);
    return EXIT.failed;
  }
  if (flags.delete === true && flags.dryRun !== 'client')
    await cluster.maintenances.remove(known, isDry, terminal.stop);
  if (flags.output !== 'table') terminal.write(formatMaintenance(changed, flags.output));
  if (!isDry) return await awaitCompletion(cluster, target, flags, terminal);
  if (flags.output === 'table') {
    terminal.write(`nodemaintenance/${name} completed${dryRunText(flags.dryRun)}\n`);
    if (flags.delete === true) terminal.write(`nodemaintenance "${name}" deleted${dryRunText(flags.dryRun)}\n`);
  }
  return EXIT.done;
}

/**
 * `nodemaint complete`: ends maintenances, waits until their nodes are uncordoned, and with --delete deletes them. Returns
 * the exit code. Throws USAGE, KUBECONFIG_INVALID, API_UNREACHABLE, API_REFUSED.
 */
export async function completeCommand(
  names: readonly string[],
  flags: CompleteFlags,
  terminal: Terminal,
): Promise<number> {
  const named = flags.selector === undefined ? undefined : parseNodeChoice(names, flags.selector);
  if (named === undefined && names.length === 0) throw noTarget('a node or a maintenance');
  const given = names.map(parseTarget);
  parseTimeout(flags.timeout);
  return await withCluster(flags, 'nodemaint-complete', terminal, async (cluster) => {
    const chosenNames = named === undefined ? [] : await chosenNodes(cluster.maintenances, named, terminal.stop);
    const targets = named === undefined ? given : chosenNames.map((name) => ({ kind: 'node' as const, name }));
    const [all, nodes] = await Promise.all([
      cluster.maintenances.maintenances(terminal.stop),
      cluster.maintenances.nodes(terminal.stop),
    ]);
    const { chosen, failures, notes } = chooseForCompletion(targets, all, nodes, flags.delete === true);
    for (const failure of failures) terminal.warn(`nodemaint: ${failure}\n`);
    if (flags.output === 'table') for (const note of notes) terminal.say(`${note}\n`);
    let code: number = failures.length > 0 ? EXIT.failed : EXIT.done;
    for (const each of chosen) {
      const goesDown = agentNodeOf(each);
      if (goesDown !== undefined && stageOf(each) === 'Drain') {
        const would = `a shutdown of node/${goesDown} that is under way no longer waits for its pods`;
        terminal.warn(
          `nodemaint: the agent of node/${goesDown} created nodemaintenance/${each.metadata.name}: ${would}\n`,
        );
      }
      const own = await completeOne(cluster, { known: each, nodes }, flags, terminal);
      if (code === EXIT.done) code = own;
    }
    return code;
  });
}
