import { COMPLETION_FINALIZER } from '../../api/names.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node } from '../../api/pod.ts';
import { agentNodeOf, isInProgress, selectsNode, stageOf } from '../../decide/maintenance/maintenance.ts';
import { chooseForCompletion, nodesOf } from '../../decide/maintenance/choice.ts';
import { type Cluster, type ClusterFlags, formatObject, parseTarget, withCluster } from '../cluster.ts';
import { EXIT } from '../terminal/exit-code.ts';
import { parseTimeout } from '../arguments.ts';
import { type NodeObservation, waitForNodes } from './wait-for-nodes.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** The flags of `nodemaint complete` as the command line has them. */
export interface CompleteFlags extends ClusterFlags {
  readonly delete?: boolean;
  readonly dryRun?: boolean;
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

function isFinished({ maintenance }: NodeObservation): boolean {
  return maintenance === undefined || maintenance.metadata.finalizers?.includes(COMPLETION_FINALIZER) !== true;
}

/** Completes one maintenance and says what became of its nodes; the exit code. */
async function completeOne(
  { client, maintenances }: Cluster,
  known: NodeMaintenance,
  flags: CompleteFlags,
  nodes: readonly Node[],
  terminal: Terminal,
): Promise<number> {
  const { name } = known.metadata;
  const isDry = flags.dryRun === true;
  const signal = terminal.stop;
  const dryText = isDry ? ' (server dry run)' : '';
  const say = (text: string): void => {
    if (flags.output === 'table') terminal.write(text);
  };
  const changed = await maintenances.change(known, { spec: { stage: 'Complete' } }, isDry, signal);
  if (changed === undefined) {
    terminal.warn(`nodemaint: nodemaintenances "${name}" not found: it was deleted in the meantime\n`);
    return EXIT.failed;
  }
  if (flags.delete === true) await maintenances.remove(known, isDry, signal);
  if (flags.output !== 'table') terminal.write(formatObject(changed, flags.output));
  const deleted = `nodemaintenance "${name}" deleted${dryText}\n`;
  if (isDry) {
    say(`nodemaintenance/${name} completed${dryText}\n`);
    if (flags.delete === true) say(deleted);
    return EXIT.done;
  }
  const own = nodesOf(known, nodes);
  const isDone = (sight: NodeObservation): boolean =>
    isFinished(sight) && (flags.delete !== true || sight.maintenance === undefined);
  const timeoutMs = parseTimeout(flags.timeout);
  const { ending, sight } = await waitForNodes(name, own, isDone, client, timeoutMs, signal);
  if (ending !== 'done') {
    const why =
      ending === 'interrupted'
        ? 'interrupted; the completion continues without this command'
        : 'no controller completed it in time; is nodemaint controller running?';
    terminal.warn(`nodemaint: nodemaintenance/${name} completion pending: ${why}\n`);
    return ending === 'interrupted' ? EXIT.failed : EXIT.timedOut;
  }
  say(`nodemaintenance/${name} completed\n`);
  if (flags.output === 'table' && known.spec.stage !== 'Idle') {
    const others = (await maintenances.maintenances(signal)).filter(({ metadata }) => metadata.name !== name);
    for (const node of sight.nodes) say(nodeText(node, others));
  }
  if (flags.delete === true) say(deleted);
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
  const targets = names.map(parseTarget);
  parseTimeout(flags.timeout);
  return await withCluster(flags, 'nodemaint-complete', terminal, async (cluster) => {
    const [all, nodes] = await Promise.all([
      cluster.maintenances.maintenances(terminal.stop),
      cluster.maintenances.nodes(terminal.stop),
    ]);
    const { chosen, failures, notes } = chooseForCompletion(targets, all, nodes, flags.delete === true);
    for (const failure of failures) terminal.warn(`nodemaint: ${failure}\n`);
    if (flags.output === 'table') for (const note of notes) terminal.write(`${note}\n`);
    let code: number = failures.length > 0 ? EXIT.failed : EXIT.done;
    for (const each of chosen) {
      const goesDown = agentNodeOf(each);
      if (goesDown !== undefined && stageOf(each) === 'Drain') {
        const would = `a shutdown of node/${goesDown} that is under way no longer waits for its pods`;
        terminal.warn(
          `nodemaint: the agent of node/${goesDown} created nodemaintenance/${each.metadata.name}: ${would}\n`,
        );
      }
      const own = await completeOne(cluster, each, flags, nodes, terminal);
      if (code === EXIT.done) code = own;
    }
    return code;
  });
}
