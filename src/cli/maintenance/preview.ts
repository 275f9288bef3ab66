import type { DrainPlanEntry, KeptPods } from '../../api/node-maintenance.ts';
import type { Pod, PodDisruptionBudget } from '../../api/pod.ts';
import { isOwnController } from '../../decide/pod.ts';
import {
  isHindered,
  previewDrain,
  type PreviewDaemonSet,
  type PreviewFacts,
} from '../../show/preview/drain-preview.ts';
import { isInProgress, selectsNode, stageOf } from '../../decide/maintenance/maintenance.ts';
import type { MaintenanceClient } from '../../kube/maintenance/client.ts';
import { DAEMON_SETS, DISRUPTION_BUDGETS, type Resource } from '../../kube/resource.ts';
import { type ClusterFlags, ifAllowed, withCluster } from '../cluster/cluster.ts';
import { formatDocument } from '../terminal/document.ts';
import { EXIT } from '../terminal/exit-code.ts';
import { chosenNodes, parseNodeChoice } from './choice.ts';
import { controlPlaneHarm } from './begin.ts';
import { readDrainPlan } from './plan-file.ts';
import { formatPreview } from './preview-table.ts';
import { columnsOf, type Terminal } from '../terminal/terminal.ts';

/** The flags of `nodemaint preview` as the command line has them. */
export interface PreviewFlags extends ClusterFlags {
  readonly plan?: string;
  readonly selector?: string;
  /** Whether the exit code tells that something would block. */
  readonly exitCode?: boolean;
}

const GATE_BINDING = 'nodemaint-daemonset-gate';
/** The bindings that gate DaemonSet pods: the mutating one from Kubernetes 1.36 on, the validating one before. */
const GATES = ['mutatingadmissionpolicybindings', 'validatingadmissionpolicybindings'].map((plural): Resource => {
  return { root: '/apis/admissionregistration.k8s.io/v1', plural, namespaced: false };
});

/** Whether the policy that gates DaemonSet pods is bound; undefined where that cannot be read. */
async function isGateInstalled(client: MaintenanceClient, signal: AbortSignal): Promise<boolean | undefined> {
  const bindings = GATES.map((resource) => client.find(resource, { name: GATE_BINDING }, signal));
  return await ifAllowed(Promise.all(bindings).then((found) => found.some((each) => each !== undefined)));
}

async function readDaemonSets(
  client: MaintenanceClient,
  pods: readonly Pod[],
  signal: AbortSignal,
): Promise<readonly PreviewDaemonSet[]> {
  const owners = new Map<string, { name: string; namespace: string }>();
  for (const { metadata } of pods) {
    const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
    if (owner?.kind !== 'DaemonSet' || !owner.apiVersion.startsWith('apps/')) continue;
    owners.set(owner.uid, { name: owner.name, namespace: metadata.namespace ?? 'default' });
  }
  const find = (meta: { name: string; namespace: string }): Promise<PreviewDaemonSet | undefined> =>
    ifAllowed(client.find<PreviewDaemonSet>(DAEMON_SETS, meta, signal));
  const found = await Promise.all([...owners.values()].map(find));
  return found.filter((set) => set !== undefined);
}

/** What is previewed. */
interface PreviewScope {
  readonly plan: readonly DrainPlanEntry[] | undefined;
  /** The kinds of pods that stay; undefined for those of the maintenance that covers the node. */
  readonly keep?: readonly KeptPods[] | undefined;
  /** The names of all nodes that are to be drained. */
  readonly leaving: readonly string[];
}

/**
 * Reads the facts of a node's preview; undefined where the node does not exist. Without a plan, the plan is that of the most
 * advanced maintenance that covers the node.
 */
export async function readPreviewFacts(
  client: MaintenanceClient,
  name: string,
  { plan, keep, leaving }: PreviewScope,
  signal: AbortSignal,
): Promise<PreviewFacts | undefined> {
  const node = await client.findNode(name, signal);
  if (node === undefined) return undefined;
  const [all, pods, budgets, isInstalled] = await Promise.all([
    client.maintenances(signal),
    client.podsOn(name, signal),
    client.list<PodDisruptionBudget>(DISRUPTION_BUDGETS, '', signal),
    isGateInstalled(client, signal),
  ]);
  const maintenances = all.filter((each) => selectsNode(each, node));
  const own =
    maintenances.find((each) => stageOf(each) === 'Drain') ??
    maintenances.find(isInProgress) ??
    maintenances.find((each) => stageOf(each) === 'Idle');
  const daemonSets = await readDaemonSets(client, pods, signal);
  const kept = keep ?? own?.spec.keepPods ?? [];
  const harm = await controlPlaneHarm(client, { leaving: [node], keep: kept }, all, signal);
  const nodes = pods.some(isOwnController) ? await client.nodes(signal) : undefined;
  const others = nodes?.filter(({ metadata }) => !leaving.includes(metadata.name));
  return {
    node,
    maintenances,
    pods,
    budgets,
    daemonSets,
    isGateInstalled: isInstalled,
    ...(harm === undefined ? {} : { controlPlaneHarm: harm }),
    // Those that could run a replica of the controller then.
    ...(others === undefined ? {} : { others }),
    plan: plan ?? own?.spec.drainPlan ?? [],
    keep: kept,
    now: Date.now(),
  };
}

/**
 * `nodemaint preview`: what a drain of the nodes would do now. Changes nothing. Returns the exit code. Throws
 * USAGE, KUBECONFIG_INVALID, API_UNREACHABLE, API_REFUSED.
 */
export async function previewCommand(
  names: readonly string[],
  flags: PreviewFlags,
  terminal: Terminal,
): Promise<number> {
  const named = parseNodeChoice(names, flags.selector);
  const plan = flags.plan === undefined ? undefined : await readDrainPlan(flags.plan, terminal.stop);
  return await withCluster(flags, 'nodemaint-preview', terminal, async ({ maintenances }) => {
    const nodes = await chosenNodes(maintenances, named, terminal.stop);
    const all = await Promise.all(
      nodes.map((name) => readPreviewFacts(maintenances, name, { plan, leaving: nodes }, terminal.stop)),
    );
    const previews = all.flatMap((facts) => (facts === undefined ? [] : previewDrain(facts)));
    if (flags.output === 'table') {
      const columns = columnsOf(terminal);
      terminal.say(previews.map((preview) => formatPreview(preview, columns)).join('\n'));
    } else if (nodes.length > 1) terminal.write(formatDocument('DrainPreviewList', { items: previews }, flags.output));
    else for (const only of previews) terminal.write(formatDocument('DrainPreview', only, flags.output));
    const missing = nodes.filter((_, index) => all[index] === undefined);
    for (const name of missing) terminal.warn(`nodemaint: nodes "${name}" not found\n`);
    if (missing.length > 0) return EXIT.failed;
    return flags.exitCode === true && previews.some(isHindered) ? EXIT.blocked : EXIT.done;
  });
}
