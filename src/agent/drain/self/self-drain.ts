/**
 * The drain of this node by its agent while no controller is alive: by the controller's rules, with the node's identity,
 * over what that identity may do. It begins when the controller's Lease has not changed for its duration, reads it before
 * each step that takes a pod away, and stops as soon as a controller is alive again.
 */
import type { Pod } from '../../../api/pod.ts';
import { dueTiersOf } from '../../../decide/deadline/maintenance.ts';
import { drainsOfNode, type NodeDrain, soleNodeOf } from '../../../decide/maintenance/maintenance.ts';
import { identityOf } from '../../../decide/drain/recorded-node.ts';
import {
  blockedByInterceptors,
  drainPodsOfNode,
  blockedByVolumes,
  evictingUids,
  resolveSelfDrains,
  type SelfDrain,
  type SelfScope,
} from '../../../decide/drain/self-drain.ts';
import { isTerminal, podTypeOf } from '../../../decide/pod.ts';
import { volumeKey, type WaitedVolume } from '../../../decide/volume/waits.ts';
import type { Leave } from '../../../decide/static-pod/moves.ts';
import { describeError } from '../../../errors.ts';
import { keyOf } from '../../../kube/resource.ts';
import type { ClusterDependencies } from '../../cluster/dependencies.ts';
import type { NodeEvictionRequests } from '../../cluster/eviction/requests.ts';
import { createNodePods, type NodePods } from '../../cluster/node-pods.ts';
import { createVolumeWaits, type SeenVolumes, type VolumeWaits } from '../../../kube/volume/volume-waits.ts';
import { drainPodsOf, leaveByTargets, type StaticPodView, withMirrorPriorities } from '../../static-pods/view.ts';
import type { Waiting } from '../../waiting.ts';
import { type DrainFacts, type Drainer, type DrainPass, drainedFor, leavesOnlyRefused } from '../drainer.ts';
import type { ControllerLiveness } from './controller-liveness.ts';
import { createSelfCordon, type SelfCordon } from './cordon.ts';
import { createSelfRemovals } from './daemon-sets.ts';
import { createSelfEvictions, type SelfEvictions } from './evictions.ts';
import type { GiveBack } from './give-back.ts';
import { createPodEnder, type EndedPods, type PodEnder } from './pods.ts';
import { createSelfStatus, type SelfStatus } from './status.ts';
import { createSelfVolumes, type SelfVolumes } from './volumes.ts';

export interface SelfDrainParts {
  readonly requests: Pick<NodeEvictionRequests, 'list' | 'synced' | 'watch'>;
  readonly liveness: Pick<ControllerLiveness, 'observe'>;
  readonly giveBack: Pick<GiveBack, 'pass'>;
  /** What the agent does in every drain of the cluster, whoever drives it. */
  readonly byController: Drainer;
  /** For how long each volume is waited for, in milliseconds; 0 for not at all. */
  readonly maxVolumeWaitMs: number;
}

/** A pass that takes longer ends; the loop, and with it the watchdog, must not wait for it. */
const PASS_MS = 10_000;

/** What was drained by this agent, for the static pods. */
interface OwnPass extends EndedPods {
  /** The static pods, with the priorities of their mirror pods. */
  readonly view: StaticPodView;
  readonly drains: readonly NodeDrain[];
  /** Maintenances that have drained the node. */
  readonly drained: ReadonlySet<string>;
}

/** Adds the static pods that the agent's own targets select, unless they wait for interceptors. */
function withOwn(base: DrainPass, own: OwnPass, { record: { phase } }: DrainFacts): DrainPass {
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
  const isDrained = name !== undefined && (own.drained.has(name) || leavesOnlyRefused(view, own.drains, name));
  return { ...base, leave, targeted, drained: base.drained || isDrained, waiting: own.waiting };
}

/** The priorities of the mirror pods, by pod key. */
function mirrorPriorities(pods: readonly Pod[]): ReadonlyMap<string, number> {
  const mirrors = pods.filter((pod) => podTypeOf(pod) === 'Static');
  return new Map(mirrors.flatMap((pod) => (pod.spec.priority === undefined ? [] : [[keyOf(pod), pod.spec.priority]])));
}

/** A volume that the drain waits for, as the status of the agent shows it. */
function waitingFor({ name, driver, waitsFor, since, message = '' }: WaitedVolume): Waiting {
  const [on, is] = waitsFor === 'Unmount' ? ['kubelet', 'mounted'] : [driver, 'attached'];
  return { what: `volume ${name} of ${driver}`, on, message: message === '' ? `is still ${is}` : message, since };
}

function ownPassOf(own: readonly SelfDrain[], view: StaticPodView, ended: EndedPods): OwnPass {
  const drains = own.map(({ maintenance, resolution }) => ({
    maintenance: maintenance.metadata.name,
    reason: maintenance.spec.reason ?? '',
    drainTargets: resolution.nodes[0]?.drainTargets ?? [],
  }));
  const finished = own.filter(({ resolution }) => resolution.drained);
  const volumes = own.flatMap(({ resolution }) => resolution.nodes[0]?.volumes?.left ?? []);
  const waits = new Map(volumes.filter(({ isGivenUp }) => !isGivenUp).map((each) => [volumeKey(each), each]));
  const waiting = [...ended.waiting, ...[...waits.values()].map(waitingFor)];
  return {
    ...ended,
    waiting,
    view,
    drains,
    drained: new Set(finished.map(({ maintenance }) => maintenance.metadata.name)),
  };
}

/** What the drain by this agent keeps from one pass to the next. */
interface SelfDrainState {
  readonly evictions: SelfEvictions;
  readonly cordon: SelfCordon;
  readonly status: SelfStatus;
  readonly ender: PodEnder;
  readonly pods: NodePods;
  readonly volumes: SelfVolumes;
  readonly waits: VolumeWaits;
  /** Ends the watch on the node's pods, and forgets everything but the writes of the status. */
  readonly stop: () => void;
}

function createSelfDrainState(
  dependencies: ClusterDependencies,
  maxVolumeWaitMs: number,
  lifetime: AbortSignal,
): SelfDrainState {
  const { client, clock } = dependencies;
  const evictions = createSelfEvictions(dependencies);
  const cordon = createSelfCordon(dependencies);
  const status = createSelfStatus(dependencies);
  const removals = createSelfRemovals(dependencies);
  const ender = createPodEnder({ client, clock, evictions, removals }, lifetime);
  const pods = createNodePods(dependencies, lifetime);
  const volumes = createSelfVolumes(dependencies);
  const waits = createVolumeWaits(maxVolumeWaitMs);
  const stop = (): void => {
    pods.stop();
    ender.forget();
    evictions.forget();
    removals.forget();
    cordon.forget();
    volumes.forget();
    waits.forget();
  };
  return { evictions, cordon, status, ender, pods, volumes, waits, stop };
}

/** What the drains of the node go by `now`, beside the pods that are left. */
function selfScope(waits: VolumeWaits, seen: Omit<SeenVolumes, 'due'>, now: number): SelfScope {
  return {
    due: (maintenance) => dueTiersOf(maintenance, seen.pods, now).position,
    volumes: (maintenance, due) => waits.of(maintenance, { ...seen, due }, now),
  };
}

/** Creates the drainer for the time without a controller; its watch on the node's pods ends with `lifetime`. */
export function createSelfDrainer(
  { requests, liveness, giveBack, byController, maxVolumeWaitMs }: SelfDrainParts,
  dependencies: ClusterDependencies,
  lifetime: AbortSignal,
): Drainer {
  const { clock, log, nodeName } = dependencies;
  const state = createSelfDrainState(dependencies, maxVolumeWaitMs, lifetime);
  const { evictions, cordon, status, ender, pods, volumes, waits, stop } = state;

  /** Whether still no controller is alive, read now: two must not do the same step. */
  const isAlone = async (signal: AbortSignal): Promise<boolean> => (await liveness.observe(0, signal)).kind === 'dead';

  const drain = async (facts: DrainFacts, signal: AbortSignal): Promise<OwnPass | undefined> => {
    const { maintenances } = facts;
    const mayAct = (): Promise<boolean> => isAlone(signal);
    const cache = pods.start();
    requests.watch(true);
    if (!cache.synced() || !requests.synced()) return undefined;
    if (!(await cordon.keep(maintenances, mayAct, signal))) return undefined;
    const all = cache.list().filter((pod) => !isTerminal(pod));
    const view = withMirrorPriorities(facts.view, mirrorPriorities(all));
    const left = drainPodsOfNode(all, drainPodsOf(view));
    const node = identityOf(cordon.node()?.metadata ?? { name: nodeName });
    const present = await volumes.observe(cordon.node(), all, signal);
    const seen = selfScope(waits, { node, pods: all, present }, clock.now());
    const own = resolveSelfDrains(status.latest(maintenances), node, left, seen);
    const scope = ender.scopeOf(own, all, requests.list());
    const { requestOf, waitsForNone } = scope;
    const evicting = evictingUids(own);
    const targeted = all.filter(({ metadata }) => evicting.has(metadata.uid ?? ''));
    const byInterceptors = blockedByInterceptors(own, all, requestOf, waitsForNone);
    const { free, blocked } = blockedByVolumes(own, targeted, clock.now());
    const blocking = [...evictions.blocking(free, cordon.node()), ...byInterceptors, ...blocked];
    const sole = own.filter(({ maintenance }) => soleNodeOf(maintenance) === nodeName);
    // The targets are written before pods leave by them: the gate of DaemonSets goes by the status.
    if (!(await status.write(sole, { list: all, blocking, requestOf }, mayAct, signal))) return undefined;
    const recorded = drainsOfNode(status.latest(maintenances), nodeName);
    return ownPassOf(own, view, await ender.end({ ...scope, recorded, mayAct }, signal));
  };

  return {
    stop,
    pass: async (facts, outer) => {
      const base = await byController.pass(facts, outer);
      const signal = AbortSignal.any([outer, AbortSignal.timeout(PASS_MS)]);
      try {
        if (facts.maintenances.length > 0) {
          const own = await drain(facts, signal);
          return own === undefined ? base : withOwn(base, own, facts);
        }
        stop();
        await giveBack.pass(() => isAlone(signal), signal);
      } catch (error) {
        outer.throwIfAborted();
        log.warn({ reason: describeError(error) }, 'cannot go on with the drain of own node, trying again');
      }
      return base;
    },
  };
}
