import { AGENT_STATUS_ANNOTATION, IMPERATIVE_INTERCEPTOR } from '../../api/names.ts';
import type { DrainPlanEntry, PodType, KeptPods, NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node, Pod, PodDisruptionBudget, Taint, Toleration } from '../../api/pod.ts';
import { counted } from '../../decide/counted.ts';
import { allowedBy, budgetCovers, whyUncountable } from '../../decide/disruption-budget/covers.ts';
import { interceptorsOf } from '../../decide/eviction/interceptors.ts';
import { flagOfLoss } from '../../decide/kept-pods/consent.ts';
import { isKept, withoutKept } from '../../decide/kept-pods/kept-pods.ts';
import { isControlPlane } from '../../decide/maintenance/control-plane-members.ts';
import { effectiveDrainPlan, entryCovers } from '../../decide/maintenance/drain-plan.ts';
import { isInProgress, stageOf } from '../../decide/maintenance/maintenance.ts';
import { firstNames } from '../../decide/name-list.ts';
import {
  isOwnController,
  CARRIES_WAY,
  drainPodOf,
  graceSecOf,
  isInPodGroup,
  isTerminal,
  lossOf,
  type PodLoss,
  podTypeOf,
  readyConditionOf,
} from '../../decide/pod.ts';
import { staticPodsStay } from '../../decide/presence/no-agent.ts';
import { readPresence } from '../../decide/presence/presence.ts';
import { controlPlaneProgram } from '../../decide/static-pod/control-plane-pod.ts';
import { shortDelay } from '../../decide/static-pod/control-plane-waits.ts';
import { isFromUrl, URL_POD_STAYS } from '../../decide/static-pod/url-pods.ts';
import { CORDON_TAINT } from '../../decide/staying-pod/returning-pod.ts';
import { carries, describeStaying } from '../../decide/staying-pod/staying-pods.ts';
import { volumesOn } from '../../decide/volume/wait.ts';
import type { KubeObject } from '../../api/meta.ts';

/** The parts of an apps/v1 DaemonSet that a preview looks at. */
export interface PreviewDaemonSet extends KubeObject {
  readonly spec?: { readonly template?: { readonly spec?: { readonly nodeName?: string } } };
}

/** The input of a preview. */
export interface PreviewFacts {
  readonly node: Node;
  /** Maintenances that select the node. */
  readonly maintenances: readonly NodeMaintenance[];
  /** Pods of the node. */
  readonly pods: readonly Pod[];
  readonly budgets: readonly PodDisruptionBudget[];
  /** The nodes that are not to be drained; absent where they need not be known, or may not be read. */
  readonly others?: readonly Node[];
  /** The DaemonSets of pods on the node, as far as they can be read. */
  readonly daemonSets: readonly PreviewDaemonSet[];
  /** Whether the cluster has the policy that gates DaemonSet pods; undefined where that cannot be read. */
  readonly isGateInstalled: boolean | undefined;
  /** How a drain would harm the control plane; absent where it would not. */
  readonly controlPlaneHarm?: string;
  /** The present, in milliseconds since the epoch; absent where the reports of agents do not matter. */
  readonly now?: number;
  /** The plan of the maintenance; the default entries are added here. */
  readonly plan: readonly DrainPlanEntry[];
  /** The kinds of pods that the maintenance leaves alone; absent for none. */
  readonly keep?: readonly KeptPods[];
}

/** How serious a finding is: it blocks the drain, it may block it, or it is only information. */
type FindingLevel = 'blocks' | 'may block' | 'note';

/** Something that a person should know before a drain. */
export interface Finding {
  readonly level: FindingLevel;
  readonly message: string;
  /** The flag without which `nodemaint drain` refuses the pod; absent where it needs none. */
  readonly needs?: string;
}

/** Static pods that nobody would end, because no agent lives on the node. */
function staticPodFindings({ node, pods, keep = [], now }: PreviewFacts): readonly Finding[] {
  const present = pods.filter((pod) => !isTerminal(pod) && !isKept(keep, drainPodOf(pod)) && !carries(pod, node));
  const stay = now === undefined ? undefined : staticPodsStay(node, present, now);
  return stay === undefined ? [] : [{ level: 'blocks', message: stay }];
}

/** What the agent of the node finds wrong there, such as a kubeconfig that points at an API server which the drain ends. */
function agentFindings({ node }: PreviewFacts): readonly Finding[] {
  const checks = readPresence(node.metadata.annotations?.[AGENT_STATUS_ANNOTATION] ?? '')?.checks ?? [];
  if (checks.length === 0) return [];
  return [
    { level: 'note', message: `its agent warns of: ${checks.join(', ')} (nodemaint doctor on the node says why)` },
  ];
}

function volumeFindings({ node }: PreviewFacts): readonly Finding[] {
  const volumes = volumesOn(node).length;
  if (volumes === 0) return [];
  const are = counted(volumes, 'volume is', 'volumes are');
  const message = `${are} attached to the node: it counts as drained when they are unmounted and detached`;
  return [{ level: 'note', message }];
}

/** What a member of the control plane cannot hand over, and where clients see it leave. */
function memberFindings({ node, pods, keep = [] }: PreviewFacts): readonly Finding[] {
  if (!isControlPlane(node) || keep.includes('Static')) return [];
  const programs = pods.flatMap(({ spec }) => controlPlaneProgram(spec.containers) ?? []);
  const hasEtcd = programs.some(({ name }) => name === 'etcd');
  const etcd = hasEtcd ? undefined : 'its etcd is not one of its static pods: the lead of etcd is not handed over';
  return [etcd, shortDelay(programs)].flatMap((message) => (message === undefined ? [] : [{ level: 'note', message }]));
}

/** What a preview says of the node itself, whatever pods leave it. */
function nodeFindings(facts: PreviewFacts): readonly Finding[] {
  const { node, maintenances, pods, controlPlaneHarm } = facts;
  const findings: Finding[] = [];
  if (controlPlaneHarm !== undefined) findings.push({ level: 'blocks', message: controlPlaneHarm });
  findings.push(...staticPodFindings(facts), ...memberFindings(facts), ...agentFindings(facts));
  const ready = readyConditionOf(node);
  if (ready !== undefined && ready.status !== 'True') {
    findings.push({
      level: 'blocks',
      message: 'the node is not Ready: it cannot be known whether its pods have ended',
    });
  }
  for (const maintenance of maintenances.filter(isInProgress)) {
    const message = `nodemaintenance/${maintenance.metadata.name} (${stageOf(maintenance)}) already covers this node`;
    findings.push({ level: 'note', message });
  }
  if (node.spec?.unschedulable === true && !maintenances.some(isInProgress)) {
    findings.push({ level: 'note', message: 'it was cordoned by a person and stays cordoned after a maintenance' });
  }
  findings.push(...volumeFindings(facts));
  const ended = pods.filter(isTerminal).length;
  if (ended > 0)
    findings.push({
      level: 'note',
      message: `${counted(ended, 'pod has', 'pods have')} already ended and will not be touched`,
    });
  return findings;
}

function takesPods(node: Node): boolean {
  return readyConditionOf(node)?.status === 'True' && node.spec?.unschedulable !== true;
}

/** What a drain does with the pod where it is a replica; `others` are the nodes that are not drained, where they are known. */
function replicaFindings(pod: Pod, others: readonly Node[] | undefined): readonly Finding[] {
  if (!isOwnController(pod)) return [];
  const place = 'it is a replica of the nodemaint controller: it leaves as the last Default pod of the node';
  if (others === undefined || others.some(takesPods)) return [{ level: 'note', message: place }];
  const alone = 'no other node can take it, so that agents drain their own nodes when it has left';
  return [{ level: 'note', message: `${place}; ${alone}` }];
}

/** At most this many kept pods are named; the others are counted. */
const MAX_KEPT = 10;

/** A pod that the drain would remove. */
export interface PreviewedPod {
  readonly namespace: string;
  readonly name: string;
  readonly priority: number;
  /** Seconds. */
  readonly gracePeriodSec: number;
  /** In their order, without the built-in one that uses the Eviction API. */
  readonly interceptors: readonly string[];
  readonly findings: readonly Finding[];
}

/** An entry of the effective drain plan, with the pods that it removes from the node. */
export interface PreviewTier {
  readonly entry: DrainPlanEntry;
  readonly pods: readonly PreviewedPod[];
}

/** Which pods would leave a node, in which order, and what would block them. */
export interface DrainPreview {
  readonly node: string;
  /** Tiers without pods are left out. */
  readonly tiers: readonly PreviewTier[];
  /** Findings that concern the whole node. */
  readonly findings: readonly Finding[];
  readonly pods: number;
  readonly blocked: number;
}

function budgetFindings(pod: Pod, facts: PreviewFacts): readonly Finding[] {
  // Static and DaemonSet pods are ended by their own interceptors, which do not check budgets.
  if (podTypeOf(pod) !== 'Default') return [];
  const own = facts.budgets.filter((budget) => budgetCovers(budget, pod));
  const names = own.map(({ metadata }) => metadata.name).join(', ');
  if (own.length > 1) {
    const message = `several PodDisruptionBudgets (${names}) cover it: the Eviction API refuses such a pod`;
    return [{ level: 'blocks', message }];
  }
  const [budget] = own;
  if (budget === undefined) return [];
  const allowed = allowedBy(budget);
  const onNode = facts.pods.filter((other) => !isTerminal(other) && budgetCovers(budget, other)).length;
  if (allowed === 0) {
    const why = whyUncountable(budget) ?? 'allows no disruption now';
    return [{ level: 'blocks', message: `the PodDisruptionBudget ${names} ${why}` }];
  }
  if (allowed >= onNode) return [];
  const message = `the PodDisruptionBudget ${names} allows ${allowed} at a time, and ${onNode} of its pods are on this node`;
  return [{ level: 'may block', message }];
}

function daemonSetFindings(pod: Pod, { daemonSets, isGateInstalled }: PreviewFacts): readonly Finding[] {
  const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner?.kind !== 'DaemonSet') return [];
  if (podTypeOf(pod) !== 'DaemonSet') {
    const message = `a DaemonSet of ${owner.apiVersion} owns it: it is drained as a Default pod, and may come back at once`;
    return [{ level: 'may block', message }];
  }
  if (isGateInstalled === false) {
    const message = `its DaemonSet ${owner.name} cannot be gated because the policy is not installed: it may come back at once`;
    return [{ level: 'may block', message }];
  }
  const set = daemonSets.find(({ metadata }) => metadata.uid === owner.uid);
  const bound = set?.spec?.template?.spec?.nodeName ?? '';
  if (bound === '') return [];
  const message = `its DaemonSet ${owner.name} cannot be gated because its template sets nodeName ${bound}: it comes back at once`;
  return [{ level: 'blocks', message }];
}

function lossFindings(pod: Pod): readonly Finding[] {
  const { finalizers = [], deletionTimestamp } = pod.metadata;
  const findings: Finding[] = [];
  if (finalizers.length > 0) {
    const message = `it stays until its finalizers are removed: ${finalizers.join(', ')}`;
    findings.push({ level: 'may block', message });
  }
  if (deletionTimestamp !== undefined) findings.push({ level: 'note', message: 'it is already terminating' });
  if (podTypeOf(pod) !== 'Default') return findings;
  const needs = (loss: PodLoss): string => `"nodemaint drain" needs ${flagOfLoss(loss)} for it`;
  const losses = lossOf(pod);
  if (losses.includes('Unmanaged')) {
    const message = `no controller owns it: it will not be recreated; ${needs('Unmanaged')}`;
    findings.push({ level: 'may block', message, needs: flagOfLoss('Unmanaged') });
  }
  const local = (pod.spec.volumes ?? []).filter(({ emptyDir }) => emptyDir !== undefined).map(({ name = '' }) => name);
  if (losses.includes('EmptyDir')) {
    const message = `local data is lost: ${local.join(', ')} (emptyDir); ${needs('EmptyDir')}`;
    findings.push({ level: 'may block', message, needs: flagOfLoss('EmptyDir') });
  }
  return findings;
}

/** Which pods the drain leaves on the node. */
function keptFindings(kept: readonly Pod[]): readonly Finding[] {
  if (kept.length === 0) return [];
  const names = kept.map(({ metadata }) => `${metadata.namespace ?? 'default'}/${metadata.name}`).toSorted();
  const are = counted(kept.length, 'pod is kept', 'pods are kept');
  return [{ level: 'note', message: `${are}, as keepPods of the maintenance says: ${firstNames(names, MAX_KEPT)}` }];
}

function groupFindings(pod: Pod): readonly Finding[] {
  if (!isInPodGroup(pod)) return [];
  const message = 'it is of a Workload or PodGroup: its interceptors are not asked before its eviction';
  return [{ level: 'note', message }];
}

/** Whether the toleration accepts the taint (corev1, Toleration). An operator that is not known may accept it. */
function tolerates({ key = '', operator = '', value = '', effect = '' }: Toleration, taint: Taint): boolean {
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  if (operator === '' || operator === 'Equal') return key !== '' && value === (taint.value ?? '');
  return true;
}

function returnFindings({ metadata: { ownerReferences = [] }, spec }: Pod, podType: PodType): readonly Finding[] {
  const isReplaced = podType === 'Default' && ownerReferences.some(({ controller }) => controller === true);
  if (!isReplaced || spec.tolerations?.some((each) => tolerates(each, CORDON_TAINT)) !== true) return [];
  const message = 'it tolerates the cordon: it may come back at once, and is then evicted again';
  return [{ level: 'may block', message }];
}

function lastFindings(pod: Pod): readonly Finding[] {
  const { order } = drainPodOf(pod);
  if (order === undefined) return [];
  const runs = order === 1 ? 'a driver of the kubelet' : 'the network of the pods';
  const message = `it runs ${runs}: it stays until the other pods are gone, and their volumes unmounted and detached`;
  return [{ level: 'note', message }];
}

function previewPod(pod: Pod, facts: PreviewFacts): PreviewedPod {
  const { namespace, name } = drainPodOf(pod);
  const { priority = 0 } = pod.spec;
  const { names, ignored } = interceptorsOf(pod);
  const interceptors = names.filter((each) => each !== IMPERATIVE_INTERCEPTOR);
  const findings: Finding[] = [
    ...groupFindings(pod),
    ...(isFromUrl(pod) ? [{ level: 'note', message: URL_POD_STAYS } as const] : []),
    ...budgetFindings(pod, facts),
    ...daemonSetFindings(pod, facts),
    ...lastFindings(pod),
    ...replicaFindings(pod, facts.others),
    ...returnFindings(pod, podTypeOf(pod)),
    ...lossFindings(pod),
    ...ignored.map((message): Finding => ({ level: 'note', message })),
  ];
  return { namespace, name, priority, gracePeriodSec: graceSecOf(pod), interceptors, findings };
}

/** Whether something blocks the drain now, or `nodemaint drain` asks for consent. */
export function isHindered({ findings, tiers }: DrainPreview): boolean {
  const ofPods = tiers.flatMap(({ pods }) => pods.flatMap((pod) => pod.findings));
  return [...findings, ...ofPods].some(({ level, needs }) => level === 'blocks' || needs !== undefined);
}

/**
 * What a drain of a node would do now (KEP-4212, "Pod Selection"): the tiers of the effective plan with their pods, and what
 * would block them.
 */
export function previewDrain(facts: PreviewFacts): DrainPreview {
  const { keep = [] } = facts;
  const plan = withoutKept(effectiveDrainPlan(facts.plan), keep);
  const present = facts.pods.filter((pod) => !isTerminal(pod));
  const carriers = present.filter((pod) => carries(pod, facts.node));
  const others = present.filter((pod) => !carriers.includes(pod));
  const pods = others.filter((pod) => !isKept(keep, drainPodOf(pod)));
  const byEntry = new Map<DrainPlanEntry, PreviewedPod[]>(plan.map((entry) => [entry, []]));
  for (const pod of pods.toSorted((a, b) => (a.spec.priority ?? 0) - (b.spec.priority ?? 0))) {
    const entry = plan.find((each) => entryCovers(each, drainPodOf(pod)));
    if (entry !== undefined) byEntry.get(entry)?.push(previewPod(pod, facts));
  }
  const tiers = [...byEntry].flatMap(([entry, own]) => (own.length === 0 ? [] : [{ entry, pods: own }]));
  const blocked = tiers
    .flatMap((tier) => tier.pods)
    .filter(({ findings }) => {
      return findings.some(({ level }) => level === 'blocks');
    }).length;
  const name = facts.node.metadata.name;
  const findings = [...nodeFindings(facts), ...keptFindings(others.filter((pod) => !pods.includes(pod)))];
  const staying = describeStaying(carriers.map((pod) => ({ ...drainPodOf(pod), stays: CARRIES_WAY })));
  if (staying !== undefined) findings.push({ level: 'note', message: `what stays: ${staying}` });
  return { node: name, tiers, findings, pods: pods.length, blocked };
}
