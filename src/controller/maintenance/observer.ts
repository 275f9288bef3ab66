import type { EvictionRequest } from '../../api/eviction-request.ts';
import { FORCE_ANNOTATION, MAINTENANCE_REQUESTER } from '../../api/names.ts';
import type { BlockingPod, NodeMaintenance, NodeMaintenanceStatus } from '../../api/node-maintenance.ts';
import type { Pod } from '../../api/pod.ts';
import type { DueTiers } from '../../decide/deadline/budget.ts';
import { deadlineOf, dueTiersOf } from '../../decide/deadline/maintenance.ts';
import { whyBlocking } from '../../decide/drain/blocking-pods.ts';
import { drainOfMaintenance, joiningNodes, reachedTargets } from '../../decide/drain/drain-of.ts';
import { estimateDrain } from '../../decide/drain/estimate.ts';
import { type Drain, drainsAround } from '../../decide/drain/field.ts';
import { entryCovers, targetsCover } from '../../decide/drain/plan.ts';
import { identityOf, type NodeIdentity } from '../../decide/drain/recorded-node.ts';
import { type DrainResolution, type NodeResolution, resolveDrains } from '../../decide/drain/resolution.ts';
import {
  drainStatus,
  type NodeObservation,
  type WaitingNode,
  waitingStatus,
  withWaiting,
} from '../../decide/drain/status.ts';
import { isRequestedBy } from '../../decide/eviction/requester.ts';
import { agentNodeOf, stageOf } from '../../decide/maintenance/maintenance.ts';
import { guardJoiningNodes } from '../../decide/maintenance/control-plane-guard.ts';
import { type ThrottledDrain, throttleDrains } from '../../decide/maintenance/throttle.ts';
import { type DrainPod, drainPodOf, isTerminal } from '../../decide/pod.ts';
import { timeOf } from '../../decide/time.ts';
import type { ControllerContext } from '../context.ts';
import { type EvictionIntent, requestKeyOf } from './intents.ts';
import { limitEvictions } from './limits.ts';
import { NOTHING_REFUSED, type Refused, refusedPod } from './refusals.ts';
import { selectedNodes } from './selected-nodes.ts';

/** A maintenance in the Drain stage as it is in our copies. */
export interface DrainObservation {
  readonly status: NodeMaintenanceStatus;
  /** Undefined where it may not drain now. */
  readonly resolution: DrainResolution | undefined;
  /** In the order of the plan. */
  readonly intents: readonly EvictionIntent[];
  /** When a deadline makes the next tier due, in milliseconds since the epoch; absent where none does. */
  readonly dueAt?: number;
}

/** Observes all drains of the cluster as it is in our copies; writes nothing. */
export interface DrainObserver {
  observe(maintenance: NodeMaintenance, now: number): DrainObservation;
}

/** A maintenance in the Drain stage, and the names of the nodes that it selects. */
interface Draining extends ThrottledDrain {
  readonly maintenance: NodeMaintenance;
}

type PodsByNode = ReadonlyMap<string, readonly Pod[]>;

interface Scope {
  readonly context: ControllerContext;
  readonly refused: Refused;
}

/** A drain that was resolved, its plan, and the pods that are left. */
interface Resolved {
  readonly plan: Drain['plan'];
  readonly resolution: DrainResolution;
  readonly pods: PodsByNode;
}

function groupByNode(pods: readonly Pod[]): PodsByNode {
  const byNode = new Map<string, Pod[]>();
  for (const pod of pods) {
    const node = pod.spec.nodeName;
    if (node === undefined || isTerminal(pod)) continue;
    const known = byNode.get(node);
    if (known === undefined) byNode.set(node, [pod]);
    else known.push(pod);
  }
  return byNode;
}

function dueOf({ maintenance, nodes }: Draining, pods: PodsByNode, now: number): DueTiers {
  if (deadlineOf(maintenance) === undefined) return { position: 0 };
  const own = nodes.flatMap((name) => pods.get(name) ?? []);
  return dueTiersOf(maintenance, own, now);
}

function nodeOf({ nodes }: ControllerContext, name: string): NodeIdentity {
  return identityOf(nodes.get(name)?.metadata ?? { name });
}

/** The drains of maintenances that share nodes with each other. */
function drainsOf(
  context: ControllerContext,
  draining: readonly Draining[],
  pods: PodsByNode,
  now: number,
): readonly Drain[] {
  const drainPods = new Map<string, readonly DrainPod[]>();
  // Several drains of a node have the same list of its pods: the resolution finds its answers once for each list.
  const podsOn = (node: string): readonly DrainPod[] => {
    const known = drainPods.get(node) ?? (pods.get(node) ?? []).map(drainPodOf);
    drainPods.set(node, known);
    return known;
  };
  return draining.map((each) => {
    const nodes = each.nodes.map((name) => ({ ...nodeOf(context, name), pods: podsOn(name) }));
    return drainOfMaintenance(each.maintenance, { nodes, isWhole: true, due: dueOf(each, pods, now).position });
  });
}

function drainingOf(context: ControllerContext, maintenance: NodeMaintenance): Draining {
  const { name, creationTimestamp, annotations } = maintenance.metadata;
  const nodes = selectedNodes(context, maintenance).map(({ metadata }) => identityOf(metadata));
  const isShutdown = agentNodeOf(maintenance) !== undefined;
  return {
    name,
    maintenance,
    createdAt: timeOf(creationTimestamp) ?? Infinity,
    begun: (maintenance.status?.drainPlanPosition ?? 0) > 0,
    nodes: nodes.map((node) => node.name),
    joining: joiningNodes(maintenance, nodes).map((node) => node.name),
    isShutdown,
    // A machine that goes down in any case is not saved by throttling its drain.
    forced: annotations?.[FORCE_ANNOTATION] === 'true' || isShutdown,
  };
}

/** How many of the pods are being evicted: it is requested, or they are terminating (KEP-4212, PodsEvacuating). */
function startedOf({ requests }: ControllerContext, pods: readonly Pod[]): number {
  const started = pods.filter(({ metadata: { namespace, uid, deletionTimestamp } }) => {
    const request = requests.get(`${namespace}/${uid}`);
    return deletionTimestamp !== undefined || isRequestedBy(request, MAINTENANCE_REQUESTER);
  });
  return started.length;
}

/** Nodes that are throttled, by their names and why, with what other drains do there. */
function waitingNodes(
  { context, refused }: Scope,
  waiting: ReadonlyMap<string, string>,
  draining: readonly Draining[],
  pods: PodsByNode,
): readonly WaitingNode[] {
  const reachedOn = reachedTargets(draining.map(({ maintenance }) => maintenance));
  return [...waiting].map(([name, message]) => {
    const node = nodeOf(context, name);
    const drainTargets = reachedOn(node);
    const own = pods.get(name) ?? [];
    const targeted = own.filter((pod) => targetsCover(drainTargets, drainPodOf(pod)));
    const refusal = refused.nodes.of(name)?.message;
    return { ...node, message, drainTargets, pods: own.length, evacuating: startedOf(context, targeted), refusal };
  });
}

/** What a drain has come to, and what is to be requested for it. */
function observeDrain(
  { context, refused }: Scope,
  { maintenance }: Draining,
  { plan, resolution, pods }: Resolved,
  now: number,
): DrainObservation {
  const requestOf = ({ metadata }: Pod): EvictionRequest | undefined =>
    context.requests.get(`${metadata.namespace}/${metadata.uid}`);
  const rank = ({ pod }: EvictionIntent): number => plan.findIndex((entry) => entryCovers(entry, pod));
  const intents = resolution.nodes
    .flatMap(({ name: node, evicting }) => evicting.map((pod) => ({ node, pod })))
    .toSorted((a, b) => rank(a) - rank(b));
  const { admitted, overLimit } = limitEvictions(context, intents, now);
  const observeNode = (node: NodeResolution): NodeObservation => {
    const known = pods.get(node.name) ?? [];
    const leaving = new Set(node.evicting.map(({ uid }) => uid));
    const evicting = known.filter(({ metadata }) => leaving.has(metadata.uid ?? ''));
    const pending = known.filter(({ metadata }) => !leaving.has(metadata.uid ?? ''));
    const object = context.nodes.get(node.name);
    const why = (pod: Pod): BlockingPod | undefined => {
      const refusal = refused.requests.of(requestKeyOf(drainPodOf(pod)));
      return refusal === undefined ? whyBlocking(pod, requestOf(pod), object, now) : refusedPod(pod, refusal);
    };
    const refusal = refused.nodes.of(node.name)?.message;
    return {
      evacuating: startedOf(context, evicting),
      blocking: evicting.flatMap((pod) => why(pod) ?? []),
      ...(refusal === undefined ? {} : { refusal }),
      expectedFinishAt: estimateDrain(plan, { evicting, pending, requestOf }, now),
      overLimit: overLimit.filter((intent) => intent.node === node.name).length,
      ungatedDaemonSets: context.ungated.on(node.name),
    };
  };
  return { status: drainStatus(maintenance, resolution, observeNode, now), resolution, intents: admitted };
}

export function createDrainObserver(context: ControllerContext, refused: Refused = NOTHING_REFUSED): DrainObserver {
  return {
    observe: (maintenance, now) => {
      const { name } = maintenance.metadata;
      // The given one may be newer than our copy of it: what it has reached is not decided from before that.
      const all = context.maintenances.list().map((each) => (each.metadata.name === name ? maintenance : each));
      const draining = all.filter((each) => stageOf(each) === 'Drain').map((each) => drainingOf(context, each));
      const own = draining.find((each) => each.name === name);
      const nothing = { status: {}, resolution: undefined, intents: [] };
      if (own === undefined) return nothing;
      const throttled = throttleDrains(context.nodes.list(), draining, context.options.maxParallelNodes);
      const why = throttled.get(name);
      const pods = groupByNode(context.pods.list());
      if (why !== undefined) {
        const nodes = waitingNodes({ context, refused }, new Map(own.nodes.map((node) => [node, why])), draining, pods);
        return { ...nothing, status: waitingStatus(maintenance, nodes, why, now) };
      }
      const begun = draining.filter((each) => !throttled.has(each.name));
      const joiningLater = guardJoiningNodes(context.nodes.list(), begun);
      const free = begun.map((each) => {
        const waiting = joiningLater.get(each.name);
        return waiting === undefined ? each : { ...each, nodes: each.nodes.filter((node) => !waiting.has(node)) };
      });
      const drains = drainsOf(context, drainsAround(free, name), pods, now);
      const resolution = resolveDrains(drains).get(name);
      if (resolution === undefined) return nothing;
      const plan = drains.find((drain) => drain.name === name)?.plan ?? [];
      const { nextAt: dueAt } = dueOf(own, pods, now);
      const observed = observeDrain({ context, refused }, own, { plan, resolution, pods }, now);
      const waiting = waitingNodes({ context, refused }, joiningLater.get(name) ?? new Map(), draining, pods);
      const status = withWaiting(maintenance, observed.status, waiting, now);
      return { ...observed, status, ...(dueAt === undefined ? {} : { dueAt }) };
    },
  };
}
