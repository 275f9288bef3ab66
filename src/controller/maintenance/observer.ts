import type { EvictionRequest } from '../../api/eviction-request.ts';
import { MAINTENANCE_REQUESTER } from '../../api/names.ts';
import type { BlockingPod, NodeMaintenance, NodeMaintenanceStatus } from '../../api/node-maintenance.ts';
import type { Pod } from '../../api/pod.ts';
import { whyBlocking, whyStaying } from '../../decide/drain/blocking-pods.ts';
import { reachedTargets } from '../../decide/drain/observed-drain.ts';
import { estimateDrain } from '../../decide/drain/estimate.ts';
import { entryCovers, targetsCover } from '../../decide/maintenance/drain-plan.ts';
import { isKept, keptBy, withoutKept } from '../../decide/kept-pods/kept-pods.ts';
import { rfc3339 } from '../../decide/time.ts';
import { drainBegan, identityOf, type NodeIdentity } from '../../decide/maintenance/recorded-node.ts';
import type { DrainResolution, NodeResolution } from '../../decide/drain/resolution.ts';
import {
  drainStatus,
  type NodeObservation,
  type WaitingNode,
  waitingStatus,
  withWaiting,
} from '../../decide/drain/status.ts';
import { isRequestedBy } from '../../decide/eviction/requester.ts';
import { drainPodOf } from '../../decide/pod.ts';
import { evictionPausedUntil, goesDownSince, whyReturning } from '../../decide/staying-pod/returning-pod.ts';
import { whyNobodyEnds } from '../../decide/presence/no-agent.ts';
import { podByUid } from '../cache/pods.ts';
import type { ControllerContext } from '../context.ts';
import { type EvictionIntent, requestKeyOf } from './wanted-evictions.ts';
import { NOTHING_REFUSED, type Refused, refusedPod } from './refusals.ts';
import { createGroupResolver, type Draining, type Verdict } from './drain-verdicts.ts';
import {
  admitEvictions,
  type EvictionCandidate,
  type EvictionPlace,
  type Flight,
  flightOf,
} from '../../decide/eviction/limits.ts';
import { isFinished } from '../../decide/eviction/request.ts';
import { requestNodeOf } from '../../decide/node-label.ts';
import { nodesThatStay } from '../../decide/disruption-budget/staying-node.ts';
import { nodeGoneForGood } from '../../decide/shutdown/machine-going-down.ts';

/** For so long a look is good for further nodes. */
const VIEW_MS = 1_000;

/** Creates what tells whether budgets are asked for the pods of a node whose machine goes down. */
function createBudgetsAsked({
  maintenances,
  nodes,
  clock,
}: Pick<ControllerContext, 'maintenances' | 'nodes' | 'clock'>): (node: string) => boolean {
  let view: { readonly at: number; readonly staying: readonly string[] } | undefined;
  return (node) => {
    // Copies that are behind may not show the nodes that stay.
    if (![nodes, maintenances].every((copy) => copy.current())) return true;
    const at = clock.monotonic();
    if (view === undefined || at - view.at >= VIEW_MS) {
      const drains = [...maintenances.drains.names].flatMap((name) => maintenances.get(name) ?? []);
      const gone = new Set(drains.flatMap((drain) => nodeGoneForGood(drain) ?? []));
      view = { at, staying: nodesThatStay(nodes.list(), gone, clock.now()) };
    }
    return view.staying.some((name) => name !== node);
  };
}

/** The pod of an eviction that is perhaps in flight. */
interface Target {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly request: EvictionRequest | undefined;
}

type Known = Pick<ControllerContext, 'pods' | 'requests'>;
type FlightOfTarget = (target: Target) => Flight;

/** How far evictions are, by all that is known when it is called. */
function createFlights({ pods }: Known, overdueBefore: number): FlightOfTarget {
  return (target) => {
    const pod = podByUid(pods, target);
    const inBackgroundSince =
      pod === undefined ? undefined : pods.inBackground.sinceOf(`${target.namespace}/${target.name}`);
    return flightOf({ pod, request: target.request, inBackgroundSince }, overdueBefore);
  };
}

/** The pods beside `own`, by their UIDs, whose eviction is asked for, or that are annotated as being evicted. */
function targetsElsewhere({ pods, requests }: Known, own: ReadonlySet<string>): Iterable<Target> {
  const found = new Map<string, Target>();
  const add = (target: Target): void => {
    if (!own.has(target.uid) && !found.has(target.uid)) found.set(target.uid, target);
  };
  for (const request of requests.list()) {
    const { namespace = 'default' } = request.metadata;
    if (!isFinished(request)) add({ namespace, ...request.spec.target.pod, request });
  }
  for (const key of pods.inBackground.keys()) {
    const metadata = pods.get(key)?.metadata;
    // A pod that somebody else has deleted is nobody's eviction.
    if (metadata === undefined || metadata.deletionTimestamp !== undefined) continue;
    const { namespace = 'default', name, uid = '' } = metadata;
    add({ namespace, name, uid, request: undefined });
  }
  return found.values();
}

/** What is in flight for pods that are not among those that are wanted, whoever asked for it, and is not overdue. */
function placesElsewhere(known: Known, own: ReadonlySet<string>, flight: FlightOfTarget): readonly EvictionPlace[] {
  return [...targetsElsewhere(known, own)].flatMap((target): readonly EvictionPlace[] => {
    if (flight(target) !== 'in-flight') return [];
    const { namespace, request } = target;
    const byLabel = request === undefined ? '' : requestNodeOf(request.metadata);
    return [{ node: podByUid(known.pods, target)?.spec.nodeName ?? byLabel, namespace }];
  });
}

/** Splits the evictions of maintenances by the limits of evictions in flight. */
interface EvictionLimiter {
  /** Which of the evictions that the resolution of a maintenance asks for may begin at `now`, in milliseconds since the epoch. */
  split(
    maintenance: string,
    intents: readonly EvictionIntent[],
    now: number,
  ): ReturnType<typeof admitEvictions<EvictionIntent & EvictionCandidate>>;
  /** Forgets a maintenance that does not drain any more. */
  forget(maintenance: string): void;
}

/** Creates it. What it has admitted counts until our copies show its request: many maintenances may begin in the same moment. */
function createEvictionLimiter(context: ControllerContext): EvictionLimiter {
  const { maxEvictionsPerNode, maxEvictionsPerNamespace, maxEvictionTime } = context.options;
  const isLimited = maxEvictionsPerNode !== undefined || maxEvictionsPerNamespace !== undefined;
  /** By maintenance. */
  const admittedOf = new Map<string, readonly EvictionIntent[]>();
  const notYetRequested = (own: ReadonlySet<string>): readonly EvictionPlace[] =>
    [...admittedOf.values()]
      .flat()
      .filter(({ pod }) => !own.has(pod.uid) && context.requests.get(requestKeyOf(pod)) === undefined)
      .filter(({ pod }) => podByUid(context.pods, pod) !== undefined)
      .map(({ node, pod: { namespace } }) => ({ node, namespace }));
  return {
    split: (maintenance, intents, now) => {
      const overdueBefore = maxEvictionTime === 0 ? -Infinity : now - maxEvictionTime;
      const flight = createFlights(context, overdueBefore);
      const candidates = intents.map(({ node, pod }) => {
        const { namespace, name, uid } = pod;
        const request = isLimited ? context.requests.get(requestKeyOf(pod)) : undefined;
        const how = isLimited ? flight({ namespace, name, uid, request }) : 'not-begun';
        return { node, pod, namespace, flight: how };
      });
      if (!isLimited) return { admitted: candidates, overLimit: [] };
      const own = new Set(intents.map(({ pod }) => pod.uid));
      admittedOf.delete(maintenance);
      const elsewhere = [...placesElsewhere(context, own, flight), ...notYetRequested(own)];
      const split = admitEvictions(candidates, context.options, elsewhere);
      admittedOf.set(maintenance, split.admitted);
      return split;
    },
    forget: (maintenance) => {
      admittedOf.delete(maintenance);
    },
  };
}

/** Evictions of other nodes, which make room within the limits when they end, are not told to each drain that waits. */
const LIMITED_AGAIN_MS = 1_000;

/** A maintenance in the Drain stage as it is in our copies. */
export interface DrainObservation {
  readonly status: NodeMaintenanceStatus;
  /** Undefined where it may not drain now. */
  readonly resolution: DrainResolution | undefined;
  /** In the order of the plan. */
  readonly intents: readonly EvictionIntent[];
  /**
   * When it has to be observed again although nothing of its nodes changes, in milliseconds since the epoch: a deadline makes
   * the next tier due, or pods wait for others, perhaps of other nodes, by the limits of evictions in flight.
   */
  readonly againAt?: number;
}

/** Observes drains as they are in our copies; writes nothing. */
export interface DrainObserver {
  observe(maintenance: NodeMaintenance, now: number): DrainObservation;
  /** Forgets a maintenance that is not in the stage Drain any more. */
  forget(name: string): void;
}

interface Scope {
  readonly context: ControllerContext;
  readonly refused: Refused;
  readonly areBudgetsAsked: (node: string) => boolean;
  readonly limiter: EvictionLimiter;
}

function nodeOf({ nodes }: ControllerContext, name: string): NodeIdentity {
  return identityOf(nodes.get(name)?.metadata ?? { name });
}

/** How many of the pods are being evicted: it is requested, or they are terminating (KEP-4212, PodsEvacuating). */
function startedOf({ requests }: ControllerContext, pods: readonly Pod[]): number {
  const started = pods.filter(({ metadata: { namespace, uid, deletionTimestamp } }) => {
    const request = requests.get(`${namespace}/${uid}`);
    return deletionTimestamp !== undefined || isRequestedBy(request, MAINTENANCE_REQUESTER);
  });
  return started.length;
}

/** Nodes that are throttled, by their names and why, with what the drains of their group do there. */
function waitingNodes(
  { context, refused }: Scope,
  waiting: ReadonlyMap<string, string>,
  { drains, maintenance }: { readonly drains: ReadonlyMap<string, Draining>; readonly maintenance: NodeMaintenance },
): readonly WaitingNode[] {
  const keep = keptBy(maintenance);
  const reachedOn = reachedTargets([...drains.values()].map((each) => each.maintenance));
  return [...waiting].map(([name, message]) => {
    const node = nodeOf(context, name);
    const drainTargets = withoutKept(reachedOn(node), keep);
    const own = context.pods.on(name).filter((pod) => !isKept(keep, drainPodOf(pod)));
    const targeted = own.filter((pod) => targetsCover(drainTargets, drainPodOf(pod)));
    const refusal = refused.nodes.of(name)?.message;
    return { ...node, message, drainTargets, pods: own.length, evacuating: startedOf(context, targeted), refusal };
  });
}

/** How many of the evictions are on each node. */
function countByNode(intents: readonly EvictionIntent[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { node } of intents) counts.set(node, (counts.get(node) ?? 0) + 1);
  return counts;
}

/** The evictions that a resolution asks for, in the order of the plan, and when pods that came back are asked for. */
function intentsOf(
  context: ControllerContext,
  { plan, resolution }: Draws,
  beganOn: (node: string) => number | undefined,
  now: number,
): { readonly intents: readonly EvictionIntent[]; readonly againAt: number } {
  let againAt = Infinity;
  const isPaused = ({ node, pod }: EvictionIntent): boolean => {
    const copy = podByUid(context.pods, pod);
    const until = copy === undefined ? undefined : evictionPausedUntil(copy, beganOn(node), now);
    if (until === undefined) return false;
    againAt = Math.min(againAt, until);
    return true;
  };
  const rank = ({ pod }: EvictionIntent): number => plan.findIndex((entry) => entryCovers(entry, pod));
  const intents = resolution.nodes
    .flatMap(({ name: node, evicting, staying }) => {
      const leaving = evicting.filter(({ uid }) => !staying.has(uid));
      return leaving.map((pod) => ({ node, pod }));
    })
    .map((intent) => ({ intent, rank: rank(intent) }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ intent }) => intent)
    .filter((intent) => !isPaused(intent));
  return { intents, againAt };
}

type Draws = Extract<Verdict, { kind: 'drains' }>;

/** What a drain has come to, and what is to be requested for it. */
function observeDrain(
  { context, refused, areBudgetsAsked, limiter }: Scope,
  maintenance: NodeMaintenance,
  draws: Draws,
  now: number,
): DrainObservation {
  const { plan, resolution } = draws;
  const requestOf = ({ metadata }: Pod): EvictionRequest | undefined =>
    context.requests.get(`${metadata.namespace}/${metadata.uid}`);
  const beganOn = (node: string): number | undefined => drainBegan(maintenance, nodeOf(context, node));
  const { intents, againAt } = intentsOf(context, draws, beganOn, now);
  const { admitted, overLimit } = limiter.split(maintenance.metadata.name, intents, now);
  const overLimitOn = countByNode(overLimit);
  const observeNode = (node: NodeResolution): NodeObservation => {
    const known = context.pods.on(node.name);
    const leaving = new Set(node.evicting.map(({ uid }) => uid));
    const evicting = known.filter(({ metadata }) => leaving.has(metadata.uid ?? ''));
    const later = new Set(node.pending.map(({ uid }) => uid));
    const pending = known.filter(({ metadata }) => later.has(metadata.uid ?? ''));
    const object = context.nodes.get(node.name);
    const began = beganOn(node.name);
    const since = goesDownSince([maintenance], nodeOf(context, node.name), object);
    const why = (pod: Pod): BlockingPod | undefined => {
      if (node.staying.has(pod.metadata.uid ?? '') && pod.metadata.deletionTimestamp === undefined)
        return whyStaying(pod, node.volumes, now);
      const refusal = refused.requests.of(requestKeyOf(drainPodOf(pod)));
      if (refusal !== undefined) return refusedPod(pod, refusal);
      return whyBlocking(pod, requestOf(pod), object, now) ?? whyReturning(pod, began, since);
    };
    const refusal = refused.nodes.of(node.name)?.message;
    // Also those that are to leave later: people learn at the beginning that the drain will not end.
    const times = { began: began ?? now, now };
    const left = new Map<Pod, BlockingPod>();
    for (const pod of [...evicting, ...pending]) {
      const unended = whyNobodyEnds(pod, { node: object, request: requestOf(pod), since: rfc3339(times.began) }, now);
      if (unended !== undefined) left.set(pod, unended);
    }
    return {
      evacuating: startedOf(context, evicting),
      blocking: [...left.values(), ...evicting.filter((pod) => !left.has(pod)).flatMap((pod) => why(pod) ?? [])],
      ...(refusal === undefined ? {} : { refusal }),
      ...(left.size > 0 ? {} : { expectedFinishAt: estimateDrain(plan, { evicting, pending, requestOf }, times) }),
      overLimit: overLimitOn.get(node.name) ?? 0,
      budgetsNotAsked: since !== undefined && !areBudgetsAsked(node.name),
      ungatedDaemonSets: context.ungated.on(node.name),
    };
  };
  const status = drainStatus(maintenance, resolution, observeNode, now);
  const nextAt = overLimit.length === 0 ? againAt : Math.min(againAt, now + LIMITED_AGAIN_MS);
  return { status, resolution, intents: admitted, ...(nextAt === Infinity ? {} : { againAt: nextAt }) };
}

export function createDrainObserver(
  context: ControllerContext,
  parts: { readonly latest?: (copy: NodeMaintenance) => NodeMaintenance; readonly refused?: Refused } = {},
): DrainObserver {
  const { refused = NOTHING_REFUSED, latest = (copy) => copy } = parts;
  const resolve = createGroupResolver(context, latest);
  const limiter = createEvictionLimiter(context);
  const scope = { context, refused, areBudgetsAsked: createBudgetsAsked(context), limiter };
  return {
    forget: (name) => {
      limiter.forget(name);
    },
    observe: (maintenance, now) => {
      const nothing = { status: {}, resolution: undefined, intents: [] };
      const { name } = maintenance.metadata;
      const { drains, verdicts } = resolve(maintenance, now);
      const [own, verdict] = [drains.get(name), verdicts.get(name)];
      if (own === undefined || verdict === undefined) return nothing;
      if (verdict.kind === 'waits') {
        const nodes = waitingNodes(scope, new Map(own.nodes.map((node) => [node, verdict.why])), {
          drains,
          maintenance,
        });
        const status = waitingStatus(maintenance, nodes, { reason: verdict.reason, message: verdict.why }, now);
        return { ...nothing, status, ...(verdict.nextAt === Infinity ? {} : { againAt: verdict.nextAt }) };
      }
      const observed = observeDrain(scope, maintenance, verdict, now);
      const waiting = waitingNodes(scope, verdict.joiningLater, { drains, maintenance });
      const status = withWaiting(maintenance, observed.status, waiting, now);
      const againAt = Math.min(verdict.nextAt, observed.againAt ?? Infinity);
      return { ...observed, status, ...(againAt === Infinity ? {} : { againAt }) };
    },
  };
}
