import type { EvictionRequest } from '../../api/eviction-request.ts';
import {
  type BlockingPod,
  DRAINED,
  type DrainPlanEntry,
  type NodeMaintenance,
  type NodeStatus,
  type Stage,
} from '../../api/node-maintenance.ts';
import type { Pod } from '../../api/pod.ts';
import { nodeStatusOf } from '../../decide/maintenance/recorded-node.ts';
import { deadlineOf } from '../../decide/deadline/maintenance.ts';
import { isKept, keptBy } from '../../decide/kept-pods/kept-pods.ts';
import { entryCovers, planOf, targetsCover } from '../../decide/maintenance/drain-plan.ts';
import { type BlockingCause, blockingCauses, hasNoKnownEnd } from './blocking-causes.ts';
import { type EvictProgress, evictProgress, UNNOTICED_MS } from './eviction-progress.ts';
import { requestedBy, stageOf } from '../../decide/maintenance/maintenance.ts';
import { type DrainPod, drainPodOf, isTerminal } from '../../decide/pod.ts';
import { timeOf } from '../../decide/time.ts';

/** A pod that has to leave, and what it waits for. */
export interface LeavingPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly progress: EvictProgress;
  /** The reason that the controller reports. */
  readonly blocking?: BlockingPod;
}

/** The progress of one entry of the effective drain plan on a node. */
export interface TierView {
  readonly entry: DrainPlanEntry;
  readonly state: 'done' | 'evicting' | 'waiting';
  /** Pods of the tier that this watch has seen so far, and those of them that are gone; who looks later has seen fewer. */
  readonly total: number;
  readonly gone: number;
  readonly pods: readonly LeavingPod[];
}

/** The progress of a node of a maintenance. */
export interface NodeView {
  readonly name: string;
  readonly message: string;
  readonly drained: boolean;
  readonly total: number;
  readonly gone: number;
  /** Milliseconds since the epoch; absent while a pod waits for something that time alone does not end. */
  readonly expectedFinishAt?: number;
  /** Tiers that have, or had, pods, and those that the drain has reached, in the order of the plan. */
  readonly tiers: readonly TierView[];
  /** The pods that the maintenance leaves alone, NAMESPACE/NAME. */
  readonly kept: readonly string[];
  /** What keeps pods on the node, each cause once. */
  readonly causes: readonly BlockingCause[];
  readonly escapedDaemonSets: readonly string[];
}

/** The progress of a maintenance, for people and programs. */
export interface DrainView {
  readonly maintenance: string;
  readonly stage: Stage;
  readonly reason: string;
  /** The user who created the maintenance; absent where it is not known. */
  readonly requestedBy?: string;
  readonly drained: boolean;
  /** The message of the Drained condition. */
  readonly message: string;
  /** Milliseconds since the epoch at which the stage began; absent while no controller has taken it up. */
  readonly since?: number;
  /** False where no controller has taken the stage up, although the maintenance has been there for a while. */
  readonly isTakenUp: boolean;
  /** When the machines will be gone, in milliseconds since the epoch, and whether that has passed; absent where nobody has named a time. */
  readonly deadline?: { readonly at: number; readonly isOver: boolean };
  readonly nodes: readonly NodeView[];
  /** What the status has no room for, in a sentence; absent where it has everything. */
  readonly leftOut?: string;
  /** The pods of all nodes that wait, by reason; only where the status has no room to name them. */
  readonly podsBlocking?: readonly { readonly reason: string; readonly pods: number }[];
}

/** Every pod ever seen on the nodes, by UID; pods that have left stay in it, so that they can be counted. */
export type ShownPods = ReadonlyMap<string, DrainPod & { readonly node: string }>;

/** The input of a view: a maintenance, its nodes, pods and requests. */
export interface DrainFacts {
  readonly maintenance: NodeMaintenance;
  /** The nodes that it selects. */
  readonly nodes: readonly string[];
  /** Pods of those nodes. */
  readonly pods: readonly Pod[];
  /** The request of a pod, if there is one. */
  readonly requestOf: (pod: Pod) => EvictionRequest | undefined;
  /** The pods seen before this view. */
  readonly seen: ShownPods;
}

/** The seen pods and these pods. */
export function withSeen(seen: ShownPods, pods: readonly Pod[]): ShownPods {
  const added = pods.filter((pod) => !isTerminal(pod) && !seen.has(pod.metadata.uid ?? ''));
  if (added.length === 0) return seen;
  const entries = added.map((pod) => {
    const { nodeName = '' } = pod.spec;
    return [pod.metadata.uid ?? '', { ...drainPodOf(pod), node: nodeName }] as const;
  });
  return new Map([...seen, ...entries]);
}

function leavingPod(pod: Pod, facts: DrainFacts, status: NodeStatus | undefined, now: number): LeavingPod {
  const { namespace = 'default', name, uid = '' } = pod.metadata;
  const progress = evictProgress({ name, uid }, facts.requestOf(pod), pod, now);
  const blocking = status?.podsBlocking?.find((each) => each.name === name && each.namespace === namespace);
  return { namespace, name, uid, progress, ...(blocking === undefined ? {} : { blocking }) };
}

function waitsForVolume({ volumesInUse }: NodeStatus): boolean {
  return volumesInUse !== undefined && volumesInUse.givenUp !== true;
}

function nodeView(name: string, facts: DrainFacts, now: number): NodeView {
  const { maintenance, seen } = facts;
  const status = nodeStatusOf(maintenance.status, name);
  const targets = status?.drainTargets ?? [];
  const [plan, keep] = [planOf(maintenance), keptBy(maintenance)];
  const onNode = facts.pods.filter((pod) => pod.spec.nodeName === name && !isTerminal(pod));
  const present = onNode.filter((pod) => !isKept(keep, drainPodOf(pod)));
  const kept = onNode.filter((pod) => isKept(keep, drainPodOf(pod)));
  const byUid = new Map(present.map((pod) => [pod.metadata.uid ?? '', pod]));
  const all = [...seen.values()].filter((pod) => pod.node === name && !isKept(keep, pod));
  const reached = status?.drainPlanPosition ?? 0;
  const tiers = plan.flatMap((entry, index): TierView[] => {
    const own = all.filter((pod) => plan.find((each) => entryCovers(each, pod)) === entry);
    // A tier that was reached is shown by everybody, also by who looks when its pods have left.
    if (own.length === 0 && index >= reached) return [];
    const left = own.flatMap(({ uid }) => byUid.get(uid) ?? []);
    const isTargeted = own.some((pod) => byUid.has(pod.uid) && targetsCover(targets, pod));
    const state = left.length === 0 ? 'done' : isTargeted ? 'evicting' : 'waiting';
    const pods = left.map((pod) => leavingPod(pod, facts, status, now));
    return [{ entry, state, total: own.length, gone: own.length - left.length, pods }];
  });
  const leaving = tiers.flatMap((tier) => tier.pods);
  const drained = status?.drainTargets !== undefined && present.length === 0 && !waitsForVolume(status);
  const expectedFinishAt =
    drained || leaving.some((pod) => hasNoKnownEnd(pod, now)) ? undefined : timeOf(status?.expectedFinishTime);
  // Only the controller knows of pods that left before watching began.
  const total = Math.max(status?.podsAtStart ?? 0, all.length);
  return {
    name,
    message: status?.drainMessage ?? '',
    drained,
    total,
    gone: total - present.length,
    ...(expectedFinishAt === undefined ? {} : { expectedFinishAt }),
    tiers,
    kept: kept.map(({ metadata }) => `${metadata.namespace ?? 'default'}/${metadata.name}`).toSorted(),
    causes: blockingCauses(leaving),
    escapedDaemonSets: status?.escapedDaemonSets ?? [],
  };
}

/** Nodes whose later pods wait for another node have no known end where that one has none: nodes of a maintenance move on together. */
function withoutGuesses(nodes: readonly NodeView[]): readonly NodeView[] {
  const isOpen = nodes.some(({ drained, expectedFinishAt }) => !drained && expectedFinishAt === undefined);
  return nodes.map((node) => {
    if (!isOpen || !node.tiers.some(({ state }) => state === 'waiting')) return node;
    const { expectedFinishAt: _, ...known } = node;
    return known;
  });
}

function deadlineView(maintenance: NodeMaintenance, now: number): Pick<DrainView, 'deadline'> {
  const at = stageOf(maintenance) === 'Complete' ? undefined : deadlineOf(maintenance)?.at;
  return at === undefined ? {} : { deadline: { at, isOver: at <= now } };
}

/** The progress of a maintenance at `now`, in milliseconds since the epoch (KEP-4212, NodeMaintenanceStatus). */
export function drainView(facts: DrainFacts, now: number): DrainView {
  const { maintenance, pods } = facts;
  const stage = stageOf(maintenance);
  const condition = maintenance.status?.conditions?.find(({ type }) => type === DRAINED);
  const started = maintenance.status?.stageStatuses?.find(({ name }) => name === stage);
  const since = timeOf(started?.startTimestamp);
  const ageMs = now - (timeOf(maintenance.metadata.creationTimestamp) ?? now);
  const { leftOut, podsBlocking } = maintenance.status?.summary ?? {};
  const requester = requestedBy(maintenance);
  const known = { ...facts, seen: withSeen(facts.seen, pods) };
  return {
    maintenance: maintenance.metadata.name,
    stage,
    reason: maintenance.spec.reason ?? '',
    ...(requester === undefined ? {} : { requestedBy: requester }),
    drained: condition?.status === 'True',
    message: condition?.message ?? '',
    ...(since === undefined ? {} : { since }),
    isTakenUp: stage === 'Idle' || since !== undefined || ageMs < UNNOTICED_MS,
    ...deadlineView(maintenance, now),
    nodes: withoutGuesses(facts.nodes.map((name) => nodeView(name, known, now))),
    ...(leftOut === undefined ? {} : { leftOut }),
    ...(podsBlocking === undefined ? {} : { podsBlocking }),
  };
}
