import type { EvictionRequest } from '../../api/eviction-request.ts';
import { MAINTENANCE_REQUESTER } from '../../api/names.ts';
import type { BlockingPod, NodeMaintenance, NodeMaintenanceStatus } from '../../api/node-maintenance.ts';
import type { Pod } from '../../api/pod.ts';
import { whyBlocking, whyStaying } from '../../decide/drain/blocking-pods.ts';
import { reachedTargets } from '../../decide/drain/observed-drain.ts';
import { estimateDrain } from '../../decide/drain/estimate.ts';
import { targetsCover } from '../../decide/maintenance/drain-plan.ts';
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
import { goesDownSince, whyReturning } from '../../decide/staying-pod/returning-pod.ts';
import { whyNobodyEnds } from '../../decide/presence/no-agent.ts';
import { requestKeyOf } from '../cache/pods.ts';
import { type EvictionRoom, LIMITED_AGAIN_MS } from '../eviction/room.ts';
import type { ControllerContext } from '../context.ts';
import { type Refusals, refusedPod } from './refusals.ts';
import { type Draining, DrainVerdicts, type Verdict } from './drain-verdicts.ts';
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

/** A maintenance in the Drain stage as it is in our copies. */
export interface DrainObservation {
  readonly status: NodeMaintenanceStatus;
  /** Undefined where it may not drain now. */
  readonly resolution: DrainResolution | undefined;
  /**
   * When it has to be observed again although nothing of its nodes changes, in milliseconds since the epoch: a deadline makes
   * the next tier due, or pods wait for others, perhaps of other nodes, by the limits of evictions in flight.
   */
  readonly againAt?: number;
}

/** Observes drains as they are in our copies; writes nothing. */
export interface DrainObserver {
  observe(maintenance: NodeMaintenance, now: number): DrainObservation;
}

interface Scope {
  readonly context: ControllerContext;
  readonly refused: Pick<Refusals, 'of'>;
  readonly areBudgetsAsked: (node: string) => boolean;
  readonly room: Pick<EvictionRoom, 'isWaiting'>;
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
    const refusal = refused.of(name)?.message;
    return { ...node, message, drainTargets, pods: own.length, evacuating: startedOf(context, targeted), refusal };
  });
}

type Draws = Extract<Verdict, { kind: 'drains' }>;

/** What a drain has come to. */
function observeDrain(
  { context, refused, areBudgetsAsked, room }: Scope,
  maintenance: NodeMaintenance,
  draws: Draws,
  now: number,
): DrainObservation {
  const { plan, resolution } = draws;
  const requestOf = (pod: Pod): EvictionRequest | undefined => context.requests.get(requestKeyOf(pod));
  const beganOn = (node: string): number | undefined => drainBegan(maintenance, nodeOf(context, node));
  let isLimited = false;
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
      const refusal = refused.of(requestKeyOf(pod));
      if (refusal !== undefined) return refusedPod(pod, refusal);
      return whyBlocking(pod, requestOf(pod), object, now) ?? whyReturning(pod, began, since);
    };
    const refusal = refused.of(node.name)?.message;
    // Also those that are to leave later: people learn at the beginning that the drain will not end.
    const times = { began: began ?? now, now };
    const left = new Map<Pod, BlockingPod>();
    for (const pod of [...evicting, ...pending]) {
      const unended = whyNobodyEnds(pod, { node: object, request: requestOf(pod), since: rfc3339(times.began) }, now);
      if (unended !== undefined) left.set(pod, unended);
    }
    const { length: overLimit } = evicting.filter(
      (pod) => !node.staying.has(pod.metadata.uid ?? '') && room.isWaiting(pod),
    );
    isLimited ||= overLimit > 0;
    return {
      evacuating: startedOf(context, evicting),
      blocking: [...left.values(), ...evicting.filter((pod) => !left.has(pod)).flatMap((pod) => why(pod) ?? [])],
      ...(refusal === undefined ? {} : { refusal }),
      ...(left.size > 0 ? {} : { expectedFinishAt: estimateDrain(plan, { evicting, pending, requestOf }, times) }),
      overLimit,
      budgetsNotAsked: since !== undefined && !areBudgetsAsked(node.name),
      ungatedDaemonSets: context.ungated.on(node.name),
    };
  };
  const status = drainStatus(maintenance, resolution, observeNode, now);
  return { status, resolution, ...(isLimited ? { againAt: now + LIMITED_AGAIN_MS } : {}) };
}

export function createDrainObserver(
  context: ControllerContext,
  parts: { readonly latest?: (copy: NodeMaintenance) => NodeMaintenance } & Partial<
    Pick<Scope, 'refused' | 'room'>
  > = {},
): DrainObserver {
  const { refused = { of: () => undefined }, latest = (copy) => copy, room = { isWaiting: () => false } } = parts;
  const resolved = new DrainVerdicts(context, latest);
  const scope = { context, refused, areBudgetsAsked: createBudgetsAsked(context), room };
  return {
    observe: (maintenance, now) => {
      const nothing = { status: {}, resolution: undefined };
      const { name } = maintenance.metadata;
      const { drains, verdicts } = resolved.of(maintenance, now);
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
