/**
 * What a node's agent does for its own node while no controller lives: the controller's rules (KEP-4212, "Drain"), as far
 * as one node can keep them alone.
 */
import type { EvictionRequest } from '../../api/eviction-request.ts';
import { DRAINED, type NodeMaintenance, type NodeStatus, WAIT_REASONS } from '../../api/node-maintenance.ts';
import type { Pod } from '../../api/pod.ts';
import type { Deadline } from '../deadline/tiers.ts';
import { earliestDeadline } from '../deadline/maintenance.ts';
import { drainOfMaintenance } from './observed-drain.ts';
import { reachesStaticPods } from '../maintenance/drain-plan.ts';
import { type NodeIdentity, nodeStatusesOf, nodeStatusOf } from '../maintenance/recorded-node.ts';
import { type DrainResolution, resolveDrains } from './resolution.ts';
import { isFinished } from '../eviction/request.ts';
import { ENDING_INTERCEPTOR, interceptorsOf } from '../eviction/interceptors.ts';
import { agentNodeOf, isInProgress, soleNodeOf, stageOf } from '../maintenance/maintenance.ts';
import { NO_VOLUMES, type NodeVolumes } from '../volume/wait.ts';
import { type DrainPod, isInPodGroup, isTerminal, podTypeOf } from '../pod.ts';
import { WHY_SELF } from '../shutdown/drainer.ts';
import { goesBefore, isBeforeItsTurn, takesTurns, toldToGuard } from '../reboot/turn.ts';
import { drainPodOn, type GoingDown } from '../staying-pod/staying-pods.ts';

/** A maintenance that this node's agent may move on, and where it is. */
export interface SelfDrain {
  readonly maintenance: NodeMaintenance;
  readonly resolution: DrainResolution;
}

/** For whom a pod stays although it is targeted. */
export interface AwaitingPod {
  /** The interceptor. */
  readonly on: string;
  readonly message: string;
}

function recordedOn({ status }: NodeMaintenance, nodeName: string): NodeStatus | undefined {
  return nodeStatusOf(status, nodeName);
}

/** Whether the controller has not let it begin, because of other maintenances. */
function isThrottled(maintenance: NodeMaintenance): boolean {
  const drained = maintenance.status?.conditions?.find(({ type }) => type === DRAINED);
  return WAIT_REASONS.some((reason) => reason === drained?.reason);
}

/** What an agent that is alone sees of the cluster before its machine reboots. */
interface SeenAlone {
  readonly node: string;
  /** Whether the node is a member of the control plane. */
  readonly isMember: boolean;
  /** All maintenances of the cluster. */
  readonly all: readonly NodeMaintenance[];
}

/** Whether the drain of a node has come to its static pods, to which a member of the control plane belongs. */
export function takesStaticPods({ drainStartTime, drainTargets = [] }: NodeStatus): boolean {
  return drainStartTime !== undefined && reachesStaticPods(drainTargets);
}

/** Whether somebody drains another node than this one to its static pods. */
function takesStaticPodsElsewhere(other: NodeMaintenance, node: string): boolean {
  if (agentNodeOf(other) !== undefined || stageOf(other) !== 'Drain') return false;
  return nodeStatusesOf(other.status).some((each) => each.nodeRef.name !== node && takesStaticPods(each));
}

/**
 * For what a drain of the node waits while no controller is alive, as a sentence without its end; undefined where it does not.
 * Only the machine of a member of the control plane waits, where the last controller has told it to wait for the other members,
 * other machines reboot before it, or other nodes are drained: which of these are members, an agent does not see.
 */
export function whyWaitsAlone(
  maintenance: NodeMaintenance,
  { node, isMember, all }: SeenAlone,
  now: number,
): string | undefined {
  if (!isBeforeItsTurn(maintenance, { name: node }) || !takesTurns(maintenance, now)) return undefined;
  const told = toldToGuard(maintenance);
  if (told !== undefined) return told;
  const other = all.find((each) => {
    return goesBefore(each, maintenance, node, now) || takesStaticPodsElsewhere(each, node);
  });
  if (!isMember || other === undefined) return undefined;
  const rule = 'a member of the control plane reboots alone while no controller is alive';
  return `${rule}, and NodeMaintenance ${other.metadata.name} has another node drained`;
}

/**
 * The maintenances that keep this node cordoned, the own ones and those that a controller had taken up here. Of the others
 * nobody can say without it whether they select the node.
 */
export function maintenancesOfNode(
  maintenances: readonly NodeMaintenance[],
  nodeName: string,
): readonly NodeMaintenance[] {
  return maintenances.filter((maintenance) => {
    if (!isInProgress(maintenance)) return false;
    return soleNodeOf(maintenance) === nodeName || recordedOn(maintenance, nodeName) !== undefined;
  });
}

/** What a drain of the node goes by, beside its pods. */
interface SeenOfDrain {
  /** How many entries of its plan are reached by the deadline. */
  readonly due: number;
  readonly volumes: NodeVolumes;
  /** As in DrainNode. */
  readonly guard?: string;
}

/** Finds it by the earliest deadline of the node's drains. */
type SelfScope = (maintenance: NodeMaintenance, deadline: Deadline | undefined) => SeenOfDrain;

const NOTHING_SEEN: SelfScope = () => ({ due: 0, volumes: NO_VOLUMES });

/**
 * The drains of the node as far as they go without a controller. One of several nodes stays at the entries of its plan that
 * it has reached, for its next ones wait for nodes that an agent does not see, unless the node goes down; one that waits for
 * others goes on waiting.
 */
export function resolveSelfDrains(
  maintenances: readonly NodeMaintenance[],
  node: NodeIdentity,
  pods: readonly DrainPod[],
  seen: SelfScope = NOTHING_SEEN,
): readonly SelfDrain[] {
  const draining = maintenancesOfNode(maintenances, node.name).filter((each) => {
    if (stageOf(each) !== 'Drain') return false;
    // One of several nodes that no controller has begun to drain is left to it, which also decides whether the drain must wait.
    if (soleNodeOf(each) !== node.name && recordedOn(each, node.name)?.drainTargets === undefined) return false;
    // Where its agent made it, the machine goes down in any case: it is not throttled for what only a controller can see.
    return agentNodeOf(each) === node.name || !isThrottled(each);
  });
  const goesDown = draining.some((each) => agentNodeOf(each) === node.name);
  const deadline = earliestDeadline(draining)?.deadline;
  const drains = draining.map((maintenance) => {
    const isWhole = goesDown || soleNodeOf(maintenance) === node.name;
    return drainOfMaintenance(maintenance, { nodes: [{ ...node, pods, ...seen(maintenance, deadline) }], isWhole });
  });
  const resolutions = resolveDrains(drains);
  return draining.flatMap((maintenance) => {
    const resolution = resolutions.get(maintenance.metadata.name);
    return resolution === undefined ? [] : [{ maintenance, resolution }];
  });
}

/** The pods that a drain of the node would take: static ones are recognised by their manifests, not by their mirror pods. */
export function drainPodsOfNode(
  pods: readonly Pod[],
  staticPods: readonly DrainPod[],
  going: GoingDown,
): readonly DrainPod[] {
  const others = pods.filter((pod) => !isTerminal(pod) && podTypeOf(pod) !== 'Static');
  return [...others.map((pod) => drainPodOn(pod, going)), ...staticPods];
}

/**
 * For whom a targeted pod has to stay. Nobody lives who could ask its interceptors or pass on from one to the next, so a
 * pod that has some waits for a controller: what it would lose by being evicted early, nobody could give back. One whose
 * request has come to the interceptor that the agent stands in for may go, and so may one that has no others, or that
 * `waitsForNone` of them: a deadline is over, or the request is spent. `why` tells why the agent drains the node.
 */
export function awaitingPodOf(
  pod: Pod,
  request: EvictionRequest | undefined,
  {
    waitsForNone = false,
    why: missing = WHY_SELF.dead,
  }: { readonly waitsForNone?: boolean; readonly why?: string } = {},
): AwaitingPod | undefined {
  const podType = podTypeOf(pod);
  const own = ENDING_INTERCEPTOR[podType];
  // It can have no request (KEP-4563), so nobody is asked before its eviction.
  if (isInPodGroup(pod)) return undefined;
  const active = request === undefined || isFinished(request) ? undefined : request.status?.activeInterceptors?.[0];
  const next = active ?? interceptorsOf(pod).names[0] ?? own;
  if (next === own || waitsForNone) return undefined;
  return { on: next, message: `waits for the interceptor ${next}; ${missing}` };
}

/** The UIDs of the pods that are targeted; of static pods the files. */
export function evictingUids(drains: readonly SelfDrain[]): ReadonlySet<string> {
  const nodes = drains.flatMap(({ resolution }) => resolution.nodes);
  return new Set(nodes.flatMap(({ evicting }) => evicting.map(({ uid }) => uid)));
}

/** The pods that all drains which target them leave where they are, because others need them; by their UIDs, with the volumes. */
export function stayingForOthers(drains: readonly SelfDrain[]): ReadonlyMap<string, NodeVolumes> {
  const nodes = drains.flatMap(({ resolution }) => resolution.nodes);
  const free = new Set(
    nodes.flatMap(({ evicting, staying }) => evicting.map(({ uid }) => uid).filter((uid) => !staying.has(uid))),
  );
  const staying = nodes.flatMap(({ staying: own, volumes = NO_VOLUMES }) =>
    [...own].map((uid) => [uid, volumes] as const),
  );
  return new Map(staying.filter(([uid]) => !free.has(uid)));
}
