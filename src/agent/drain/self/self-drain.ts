/**
 * The drain of this node by its agent while no controller is alive: by the controller's rules, with the node's identity,
 * over what that identity may do. It begins when the controller's Lease has not changed for its duration, reads it before
 * each step that takes a pod away, and stops as soon as a controller is alive again. A controller that is alive and does
 * nothing for the shutdown of this node counts as none until the shutdown is over.
 */
import type { Pod } from '../../../api/pod.ts';
import { dueTiersOf } from '../../../decide/deadline/maintenance.ts';
import { drainsOfNode, type NodeDrain, soleNodeOf } from '../../../decide/maintenance/maintenance.ts';
import { identityOf, type NodeIdentity, recordedNodes } from '../../../decide/maintenance/recorded-node.ts';
import {
  blockedByInterceptors,
  drainPodsOfNode,
  blockedByOthers,
  evictingUids,
  resolveSelfDrains,
  type SelfDrain,
  type SelfScope,
  whyWaitsAlone,
  withReturning,
} from '../../../decide/drain/self-drain.ts';
import { drainEnd, type Left, leftOf } from '../../../decide/staying-pod/left-pods.ts';
import { isTerminal, podTypeOf } from '../../../decide/pod.ts';
import { goesDownSince } from '../../../decide/staying-pod/returning-pod.ts';
import { decideVolumes, describeVolumes, recordedWait, waitsForVolumes } from '../../../decide/volume/wait.ts';
import type { Leave } from '../../../decide/static-pod/moves.ts';
import { describeError } from '../../../errors.ts';
import { keyOf } from '../../../kube/resource.ts';
import type { BlockingPod, NodeMaintenance } from '../../../api/node-maintenance.ts';
import { isControlPlane } from '../../../decide/maintenance/control-plane-members.ts';
import { isBeforeItsTurn } from '../../../decide/shutdown/machine-going-down.ts';
import type { OwnNode } from '../../cluster/own-node.ts';
import type { ClusterDependencies } from '../../cluster/dependencies.ts';
import type { NodeEvictionRequests } from '../../cluster/eviction-requests.ts';
import type { NodePods } from '../../cluster/node-pods.ts';
import { followed } from '../../cluster/on-demand-watch.ts';
import { drainPodsOf, leaveByTargets, type StaticPodView, withMirrorPriorities } from '../../static-pods/view.ts';
import type { NodeMaintenances } from '../../cluster/maintenance-watch.ts';
import { API_SERVER, type Waiting } from '../../iteration/waited-for.ts';
import { type DrainerFacts, type Drainer, type DrainPass, drainedFor, manifestsOf } from '../drainer.ts';
import type { ProgressObserver } from '../observer.ts';
import { createSelfCordon, type SelfCordon } from './cordon.ts';
import { createSelfRemovals } from './daemon-sets.ts';
import { createSelfEvictions, type SelfEvictions } from './evictions.ts';
import type { GiveBack } from '../uncordon-and-ungate.ts';
import { createOtherNodes, type OtherNodes } from './other-nodes.ts';
import { createPodRemoval, type EndedPods, type PodRemoval, type PodScope } from './pod-removal.ts';
import { createSelfStatus, type SelfStatus } from './status.ts';
import { createSelfVolumes, type SelfVolumes } from './volumes.ts';

interface SelfDrainParts {
  readonly requests: Pick<NodeEvictionRequests, 'list' | 'synced' | 'watch'>;
  readonly controller: Pick<ProgressObserver, 'isAway' | 'whyAway' | 'isBesideController' | 'settings'>;
  readonly giveBack: Pick<GiveBack, 'pass'>;
  /** All maintenances of the cluster. */
  readonly maintenances: Pick<NodeMaintenances, 'list'>;
  readonly ownNode: OwnNode;
  /** Whoever watches more than this drainer ends the watch. */
  readonly pods: NodePods;
  /** What the agent does in every drain of the cluster, whoever drives it. */
  readonly byController: Drainer;
  /** For how long volumes are waited for, in milliseconds; 0 for not at all. */
  readonly maxVolumeWaitMs: number;
}

/** What keeps a drain where the API server answers to a write with a conflict, or a controller is back. */
const NOT_WRITTEN = 'what the drain comes to cannot be written yet';
/** A pass that takes longer ends; the loop, and with it the watchdog, must not wait for it. */
const PASS_MS = 10_000;

/** The labels of a node hardly ever change. */
const OWN_NODE_AGE_MS = 60_000;

/** What was drained by this agent, for the static pods. */
interface OwnPass extends EndedPods {
  /** The static pods, with the priorities of their mirror pods. */
  readonly view: StaticPodView;
  readonly drains: readonly NodeDrain[];
  /** What is left of the drain of this shutdown; undefined where it has none. */
  readonly left: readonly Left[] | undefined;
}

/** Adds the static pods that the agent's own targets select, unless they wait for interceptors. */
function withOwn(base: DrainPass, own: OwnPass, { record: { phase } }: DrainerFacts): DrainPass {
  const { view } = own;
  const name = drainedFor(phase);
  const leave = new Map<string, Leave>(base.leave);
  const targeted = new Set(base.targeted);
  // What leaves for several drains is parked for another one than the shutdown's, which may outlive it.
  const isShutdown = ({ maintenance }: NodeDrain): number => Number(maintenance === name);
  for (const drain of own.drains.toSorted((one, other) => isShutdown(one) - isShutdown(other))) {
    for (const [key, why] of leaveByTargets(view, drain.drainTargets, drain)) {
      targeted.add(key);
      if (!own.awaiting.has(key) && !leave.has(key)) leave.set(key, why);
    }
  }
  const end = base.drained ? base : drainEnd(own.left);
  const [first] = own.waiting;
  // What waits for anything else has an owner, or an end of its own.
  const failed =
    first !== undefined && own.waiting.every(({ on }) => on === API_SERVER) ? { stalled: first.message } : {};
  return { ...base, ...end, ...failed, leave, targeted, waiting: own.waiting };
}

/** The pass that did not get on with the API server, and why. */
function stalled(base: DrainPass, reason: string): DrainPass {
  const waiting = { what: 'the drain of this node', on: API_SERVER, message: reason };
  return { ...base, stalled: reason, waiting: [...base.waiting, waiting] };
}

/** What is left of the drain: its pods, the volumes that it waits for, and static pods without a manifest here. */
function leftOfDrain({ resolution }: SelfDrain, pods: readonly Pod[], view: StaticPodView): readonly Left[] {
  const manifests = manifestsOf(view);
  const others = pods.filter((pod) => podTypeOf(pod) === 'Static' && !manifests.ends.has(keyOf(pod)));
  const own = resolution.nodes.flatMap(({ evicting, pending, volumes }): readonly Left[] => {
    const waits = waitsForVolumes(volumes) ? volumes.names : [];
    const named = [...evicting, ...pending].map(({ namespace, name, stays }) => {
      return { what: `${namespace}/${name}`, ...(stays === undefined ? {} : { stays }) };
    });
    return [...named, ...waits.map((name) => ({ what: `volume ${name}` }))];
  });
  // What stays of the others is judged where the end of the drain is.
  return [...own, ...leftOf(others, manifests, { since: undefined, now: 0 })];
}

/** The priorities of the mirror pods, by pod key. */
function mirrorPriorities(pods: readonly Pod[]): ReadonlyMap<string, number> {
  const mirrors = pods.filter((pod) => podTypeOf(pod) === 'Static');
  return new Map(mirrors.flatMap((pod) => (pod.spec.priority === undefined ? [] : [[keyOf(pod), pod.spec.priority]])));
}

/** The view of the static pods, and the name of the maintenance of this node's shutdown. */
interface PassScope {
  readonly view: StaticPodView;
  readonly pods: readonly Pod[];
  readonly shutdown: string | undefined;
}

function ownPassOf(own: readonly SelfDrain[], { view, pods, shutdown }: PassScope, ended: EndedPods): OwnPass {
  const drains = own.map(({ maintenance, resolution }) => ({
    maintenance: maintenance.metadata.name,
    reason: maintenance.spec.reason ?? '',
    drainTargets: resolution.nodes[0]?.drainTargets ?? [],
  }));
  const ofShutdown = own.find(({ maintenance }) => maintenance.metadata.name === shutdown);
  const [volumes] = own.map(({ resolution }) => resolution.nodes[0]?.volumes).filter(waitsForVolumes);
  const what =
    volumes === undefined
      ? []
      : [
          {
            what: 'this node',
            on: 'kubelet',
            message: `waits for ${describeVolumes([volumes])}`,
            since: volumes.since,
          },
        ];
  const waiting = [...ended.waiting, ...what];
  return {
    ...ended,
    waiting,
    view,
    drains,
    left: ofShutdown === undefined ? undefined : leftOfDrain(ofShutdown, pods, view),
  };
}

/** What the drain by this agent keeps from one pass to the next. */
interface SelfDrainState {
  readonly evictions: SelfEvictions;
  readonly cordon: SelfCordon;
  readonly status: SelfStatus;
  readonly ender: PodRemoval;
  readonly volumes: SelfVolumes;
  readonly others: OtherNodes;
  /** Forgets everything but the writes of the status. */
  readonly stop: () => void;
}

function createSelfDrainState(
  dependencies: ClusterDependencies,
  { controller }: Pick<SelfDrainParts, 'controller'>,
  lifetime: AbortSignal,
): SelfDrainState {
  const { client, clock } = dependencies;
  const why = (): string => controller.whyAway();
  const evictions = createSelfEvictions(dependencies, () => controller.settings());
  const cordon = createSelfCordon(dependencies);
  const status = createSelfStatus(dependencies, controller);
  const removals = createSelfRemovals(dependencies);
  const ender = createPodRemoval({ client, clock, evictions, removals, why }, lifetime);
  const volumes = createSelfVolumes(dependencies);
  const others = createOtherNodes(dependencies);
  const stop = (): void => {
    ender.forget();
    evictions.forget();
    removals.forget();
    cordon.forget();
    volumes.forget();
    others.forget();
  };
  return { evictions, cordon, status, ender, volumes, others, stop };
}

/** What is seen of the volumes of this node. */
interface SeenVolumes {
  readonly node: NodeIdentity;
  readonly pods: readonly Pod[];
  readonly names: readonly string[];
  readonly since: number | undefined;
  readonly maxWaitMs: number;
}

/** What the drains of the node go by `now`, beside the pods that are left. */
function selfScope({ node, pods, names, since, maxWaitMs }: SeenVolumes, now: number): SelfScope {
  return (maintenance, deadline) => {
    const due = dueTiersOf(maintenance, deadline, pods, now).position;
    const known = (): number => Math.min(since ?? now, recordedWait(recordedNodes(maintenance.status)(node)) ?? now);
    return {
      due,
      volumes: decideVolumes(maintenance, { pods, names, known, maxWaitMs, deadlineAt: deadline?.at }, now),
    };
  };
}

/** Why targeted pods are still there: their evictions are refused, or interceptors or volumes keep them. */
function blockingPods(
  { evictions, cordon }: Pick<SelfDrainState, 'evictions' | 'cordon'>,
  scope: PodScope,
  now: number,
): readonly BlockingPod[] {
  const { own, pods } = scope;
  const evicting = evictingUids(own);
  const targeted = pods.filter(({ metadata }) => evicting.has(metadata.uid ?? ''));
  const { free, blocked } = blockedByOthers(own, targeted, now);
  const byInterceptors = blockedByInterceptors(own, pods, scope);
  return withReturning([...evictions.blocking(free, cordon.node()), ...byInterceptors, ...blocked], own, free);
}

/** Creates the drainer for the time without a controller; its work ends with `lifetime`. */
export function createSelfDrainer(
  { requests, controller, giveBack, maintenances: known, ownNode, pods, byController, maxVolumeWaitMs }: SelfDrainParts,
  dependencies: ClusterDependencies,
  lifetime: AbortSignal,
): Drainer {
  const { clock, log, nodeName } = dependencies;
  const state = createSelfDrainState(dependencies, { controller }, lifetime);
  const { cordon, status, ender, volumes, others, stop } = state;
  /** Drains the node; or says what keeps the agent from it. */
  const drain = async ({ maintenances, ...facts }: DrainerFacts, signal: AbortSignal): Promise<OwnPass | string> => {
    const mayAct = (): Promise<boolean> => controller.isAway(signal);
    const copy = followed(pods);
    requests.watch(true);
    if (copy === undefined) return 'the API server does not tell of the pods of this node';
    if (!requests.synced()) return 'the API server does not tell of the EvictionRequests of this node';
    if (!(await cordon.keep(maintenances, mayAct, signal))) return NOT_WRITTEN;
    const all = copy.list().filter((pod) => !isTerminal(pod));
    const view = withMirrorPriorities(facts.view, mirrorPriorities(all));
    const going = { since: goesDownSince(maintenances, { name: nodeName }, true), now: clock.now() };
    const left = drainPodsOfNode(all, drainPodsOf(view), going);
    const node = identityOf(cordon.node()?.metadata ?? { name: nodeName });
    const names = await volumes.observe(all, signal);
    const seen = selfScope({ node, pods: all, names, since: volumes.since(), maxWaitMs: maxVolumeWaitMs }, clock.now());
    const own = resolveSelfDrains(status.latest(maintenances), node, left, seen);
    const scope = ender.scopeOf(own, all, requests.list());
    const blocking = blockingPods(state, scope, clock.now());
    const sole = own.filter(({ maintenance }) => soleNodeOf(maintenance) === nodeName);
    // The targets are written before pods leave by them: the gate of DaemonSets goes by the status.
    const observed = { list: all, blocking, requestOf: scope.requestOf };
    if (!(await status.write(sole, observed, mayAct, signal))) return NOT_WRITTEN;
    const recorded = drainsOfNode(status.latest(maintenances), nodeName);
    const whyNotAsked = await others.look(known.list(), signal);
    const ended = await ender.end({ ...scope, recorded, mayAct, whyNotAsked }, signal);
    return ownPassOf(own, { view, pods: all, shutdown: drainedFor(facts.record.phase) }, ended);
  };

  /** Those of the maintenances that may begin, or why none may. */
  const thoseInTurn = async (
    maintenances: readonly NodeMaintenance[],
    signal: AbortSignal,
  ): Promise<readonly NodeMaintenance[] | string> => {
    const latest = status.latest(maintenances);
    if (!latest.some((each) => isBeforeItsTurn(each, { name: nodeName }))) return latest;
    const seen = await ownNode.observe(OWN_NODE_AGE_MS, signal);
    const isMember = seen.kind === 'present' && isControlPlane(seen.node);
    const scope = { node: nodeName, isMember, all: known.list() };
    const whyNot = (each: NodeMaintenance): string | undefined => whyWaitsAlone(each, scope, clock.now());
    const free = latest.filter((each) => whyNot(each) === undefined);
    return free.length > 0 ? free : latest.map(whyNot).join('; ');
  };

  return {
    stop,
    pass: async (facts, outer) => {
      const base = await byController.pass(facts, outer);
      const signal = AbortSignal.any([outer, AbortSignal.timeout(PASS_MS)]);
      const mayAct = (): Promise<boolean> => controller.isAway(signal);
      try {
        const maintenances = await thoseInTurn(facts.maintenances, signal);
        // A node that waits is left as it is.
        if (typeof maintenances === 'string') {
          const turn: Waiting = { what: 'its turn to reboot', on: 'other nodes', message: maintenances };
          return { ...base, waiting: [...base.waiting, turn] };
        }
        if (maintenances.length > 0) {
          const own = await drain({ ...facts, maintenances }, signal);
          return typeof own === 'string' ? stalled(base, own) : withOwn(base, own, facts);
        }
        stop();
        await giveBack.pass(mayAct, signal);
      } catch (error) {
        outer.throwIfAborted();
        const reason = describeError(error);
        log.warn({ reason }, 'cannot go on with the drain of own node, trying again');
        return stalled(base, reason);
      }
      return base;
    },
  };
}
