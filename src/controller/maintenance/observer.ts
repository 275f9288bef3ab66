import type { EvictionRequest } from '../../api/eviction-request.ts';
import { MAINTENANCE_REQUESTER } from '../../api/names.ts';
import type {
  BlockingPod,
  DrainPlanEntry,
  NodeMaintenance,
  NodeMaintenanceStatus,
} from '../../api/node-maintenance.ts';
import type { Pod } from '../../api/pod.ts';
import { whyLeft, whyRefused } from '../../decide/drain/blocking-pods.ts';
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
import { type DrainPod, drainPodOf } from '../../decide/pod.ts';
import { goesDownSince } from '../../decide/staying-pod/returning-pod.ts';
import { whyNobodyEnds } from '../../decide/presence/no-agent.ts';
import { requestKeyOf } from '../cache/pods.ts';
import { type EvictionRoom, LIMITED_AGAIN_MS } from '../eviction/limits.ts';
import type { ControllerContext } from '../context.ts';
import type { Refusals } from './refusals.ts';
import { type Draining, DrainVerdicts } from './drain-verdicts.ts';
import { nodesThatStay } from '../../decide/disruption-budget/staying-node.ts';
import { nodeGoneForGood } from '../../decide/reboot/turn.ts';

/** For so long a look at the nodes that stay is good for further nodes. */
const STAYING_MS = 1_000;

/** A maintenance in the Drain stage as it is in our copies. */
export interface DrainObservation {
  readonly status: NodeMaintenanceStatus;
  /** Undefined where it may not drain now. */
  readonly resolution: DrainResolution | undefined;
  /**
   * When it has to be observed again although nothing of its nodes changes, in milliseconds since the epoch: a deadline makes
   * the next tier due, or pods wait for others, perhaps of other nodes, by the limits of evictions in flight. Infinity for never.
   */
  readonly againAt: number;
}

/** How many of the pods are being evicted: it is requested, or they are terminating (KEP-4212, PodsEvacuating). */
function startedOf({ requests }: ControllerContext, pods: readonly Pod[]): number {
  const started = pods.filter((pod) => {
    const isRequested = isRequestedBy(requests.get(requestKeyOf(pod)), MAINTENANCE_REQUESTER);
    return pod.metadata.deletionTimestamp !== undefined || isRequested;
  });
  return started.length;
}

/** Observes drains as they are in our copies; writes nothing. */
export class DrainObserver {
  readonly #context: ControllerContext;
  readonly #refused: Pick<Refusals, 'of'> | undefined;
  readonly #room: Pick<EvictionRoom, 'isWaiting'> | undefined;
  readonly #verdicts: DrainVerdicts;
  #staying: { readonly at: number; readonly nodes: readonly string[] } | undefined;

  /** `latest` returns a maintenance as our last write left it, where our copy does not show that yet. */
  constructor(
    context: ControllerContext,
    {
      refused,
      room,
    }: { readonly refused?: Pick<Refusals, 'of'>; readonly room?: Pick<EvictionRoom, 'isWaiting'> } = {},
    latest: (copy: NodeMaintenance) => NodeMaintenance = (copy) => copy,
  ) {
    this.#context = context;
    this.#refused = refused;
    this.#room = room;
    this.#verdicts = new DrainVerdicts(context, latest);
  }

  /** What the drain has come to `now`; it may be newer than our copy of it. */
  observe(maintenance: NodeMaintenance, now: number): DrainObservation {
    const nothing = { status: {}, resolution: undefined, againAt: Infinity };
    const { drains, verdicts } = this.#verdicts.of(maintenance, now);
    const { name } = maintenance.metadata;
    const [own, verdict] = [drains.get(name), verdicts.get(name)];
    if (own === undefined || verdict === undefined) return nothing;
    const waitingOn = (waiting: ReadonlyMap<string, string>): readonly WaitingNode[] => {
      return this.#waitingNodes(maintenance, waiting, drains);
    };
    if (verdict.kind === 'waits') {
      const { reason, why: message, nextAt } = verdict;
      const nodes = waitingOn(new Map(own.nodes.map((node) => [node, message])));
      return { ...nothing, status: waitingStatus(maintenance, nodes, { reason, message }, now), againAt: nextAt };
    }
    const { plan, resolution, joiningLater, nextAt } = verdict;
    let isLimited = false;
    const observeNode = (node: NodeResolution): NodeObservation => {
      const observed = this.#observeNode(maintenance, node, plan, now);
      isLimited ||= observed.overLimit > 0;
      return observed;
    };
    const observed = drainStatus(maintenance, resolution, observeNode, now);
    const status = withWaiting(maintenance, observed, waitingOn(joiningLater), now);
    return { status, resolution, againAt: isLimited ? Math.min(nextAt, now + LIMITED_AGAIN_MS) : nextAt };
  }

  /** Nodes that are throttled, by their names and why, with what the drains of their group do there. */
  #waitingNodes(
    maintenance: NodeMaintenance,
    waiting: ReadonlyMap<string, string>,
    drains: ReadonlyMap<string, Draining>,
  ): readonly WaitingNode[] {
    const keep = keptBy(maintenance);
    const reachedOn = reachedTargets([...drains.values()].map((each) => each.maintenance));
    return [...waiting].map(([name, message]) => {
      const node = this.#identityOf(name);
      const drainTargets = withoutKept(reachedOn(node), keep);
      const own = this.#context.pods.on(name).filter((pod) => !isKept(keep, drainPodOf(pod)));
      const targeted = own.filter((pod) => targetsCover(drainTargets, drainPodOf(pod)));
      const evacuating = startedOf(this.#context, targeted);
      return { ...node, message, drainTargets, pods: own.length, evacuating, refusal: this.#refusalOf(name) };
    });
  }

  #observeNode(
    maintenance: NodeMaintenance,
    node: NodeResolution,
    plan: readonly DrainPlanEntry[],
    now: number,
  ): NodeObservation {
    const { pods, nodes, requests, ungated } = this.#context;
    const known = pods.on(node.name);
    const among = (some: readonly DrainPod[]): readonly Pod[] => {
      const uids = new Set(some.map(({ uid }) => uid));
      return known.filter(({ metadata }) => uids.has(metadata.uid ?? ''));
    };
    const [evicting, pending] = [among(node.evicting), among(node.pending)];
    const requestOf = (pod: Pod): EvictionRequest | undefined => requests.get(requestKeyOf(pod));
    const stays = (pod: Pod): boolean => node.staying.has(pod.metadata.uid ?? '');
    const object = nodes.get(node.name);
    const identity = this.#identityOf(node.name);
    const began = drainBegan(maintenance, identity);
    const since = goesDownSince([maintenance], identity, object);
    const why = (pod: Pod): BlockingPod | undefined => {
      const refusal = this.#refused?.of(requestKeyOf(pod));
      const known = refusal && whyRefused(pod, refusal);
      const stay = { stays: stays(pod), volumes: node.volumes };
      return whyLeft(pod, { ...stay, known, request: requestOf(pod), node: object, began, since }, now);
    };
    const refusal = this.#refusalOf(node.name);
    // Also those that are to leave later: people learn at the beginning that the drain will not end.
    const times = { began: began ?? now, now };
    const left = new Map<Pod, BlockingPod>();
    for (const pod of [...evicting, ...pending]) {
      const unended = whyNobodyEnds(pod, { node: object, request: requestOf(pod), since: rfc3339(times.began) }, now);
      if (unended !== undefined) left.set(pod, unended);
    }
    return {
      evacuating: startedOf(this.#context, evicting),
      blocking: [...left.values(), ...evicting.filter((pod) => !left.has(pod)).flatMap((pod) => why(pod) ?? [])],
      ...(refusal === undefined ? {} : { refusal }),
      ...(left.size > 0 ? {} : { expectedFinishAt: estimateDrain(plan, { evicting, pending, requestOf }, times) }),
      overLimit: evicting.filter((pod) => !stays(pod) && this.#room?.isWaiting(pod) === true).length,
      budgetsNotAsked: since !== undefined && !this.#areBudgetsAsked(node.name),
      ungatedDaemonSets: ungated.on(node.name),
    };
  }

  /** Whether budgets are asked for the pods of a node whose machine goes down: as long as another node stays. */
  #areBudgetsAsked(node: string): boolean {
    const { nodes, maintenances, clock } = this.#context;
    // Copies that are behind may not show the nodes that stay.
    if (![nodes, maintenances].every((copy) => copy.current())) return true;
    const at = clock.monotonic();
    if (this.#staying === undefined || at - this.#staying.at >= STAYING_MS) {
      const drains = [...maintenances.drains.names].flatMap((name) => maintenances.get(name) ?? []);
      const gone = new Set(drains.flatMap((drain) => nodeGoneForGood(drain) ?? []));
      this.#staying = { at, nodes: nodesThatStay(nodes.list(), gone, clock.now()) };
    }
    return this.#staying.nodes.some((name) => name !== node);
  }

  #identityOf(name: string): NodeIdentity {
    return identityOf(this.#context.nodes.get(name)?.metadata ?? { name });
  }

  #refusalOf(node: string): string | undefined {
    return this.#refused?.of(node)?.message;
  }
}
