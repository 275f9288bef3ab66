/**
 * The drain of this node by its agent while no controller is alive: by the controller's rules, with the node's identity,
 * over what that identity may do. It begins when the controller's Lease has not changed for its duration, reads it before
 * each step that takes a pod away, and stops as soon as a controller is alive again.
 */
import type { NodeMaintenance } from '../../../api/node-maintenance.ts';
import type { Pod } from '../../../api/pod.ts';
import { dueTiersOf } from '../../../decide/deadline/maintenance.ts';
import { drainsOfNode, type NodeDrain, soleNodeOf } from '../../../decide/maintenance/maintenance.ts';
import {
  blockedByInterceptors,
  drainPodsOfNode,
  resolveSelfDrains,
  type SelfDrain,
} from '../../../decide/drain/self-drain.ts';
import { isTerminal } from '../../../decide/pod.ts';
import type { Leave } from '../../../decide/static-pod/moves.ts';
import { describeError } from '../../../errors.ts';
import { syncCordon } from '../../../kube/cordon.ts';
import type { Cluster, ClusterDependencies } from '../../cluster/cluster.ts';
import { createNodePods } from '../../cluster/node-pods.ts';
import { drainPodsOf, leaveByTargets } from '../../static-pods/view.ts';
import { type DrainFacts, type Drainer, type DrainPass, drainedFor, leavesOnlyRefused } from '../drainer.ts';
import type { ControllerLiveness } from './controller-liveness.ts';
import { createSelfRemovals } from './daemon-sets.ts';
import { createSelfEvictions } from './evictions.ts';
import type { GiveBack } from './give-back.ts';
import { createPodEnder, type EndedPods } from './pods.ts';
import { createSelfStatus } from './status.ts';

export interface SelfDrainParts {
  readonly cluster: Pick<Cluster, 'requests' | 'requestsSynced' | 'watchRequests'>;
  readonly liveness: Pick<ControllerLiveness, 'observe'>;
  readonly giveBack: Pick<GiveBack, 'pass'>;
  /** What the agent does in every drain of the cluster, whoever drives it. */
  readonly byController: Drainer;
}

/** How often the cordon of the node is read, in case it is taken away. */
const CORDON_EVERY_MS = 15_000;
/** A pass that takes longer ends; the loop, and with it the watchdog, must not wait for it. */
const PASS_MS = 10_000;

/** What was drained by this agent, for the static pods. */
interface OwnPass extends EndedPods {
  readonly drains: readonly NodeDrain[];
  /** Maintenances that have drained the node. */
  readonly drained: ReadonlySet<string>;
}

/** Adds the static pods that the agent's own targets select, unless they wait for interceptors. */
function withOwn(base: DrainPass, own: OwnPass, { record: { phase }, view }: DrainFacts): DrainPass {
  const leave = new Map<string, Leave>(base.leave);
  const targeted = new Set(base.targeted);
  for (const drain of own.drains) {
    for (const [key, why] of leaveByTargets(view, drain.drainTargets, drain)) {
      targeted.add(key);
      if (!own.awaiting.has(key)) leave.set(key, why);
    }
  }
  const name = drainedFor(phase);
  const isDrained = name !== undefined && (own.drained.has(name) || leavesOnlyRefused(view, own.drains, name));
  return { ...base, leave, targeted, drained: base.drained || isDrained, waiting: own.waiting };
}

function drainsIn(own: readonly SelfDrain[]): readonly NodeDrain[] {
  return own.map(({ maintenance, resolution }) => ({
    maintenance: maintenance.metadata.name,
    reason: maintenance.spec.reason ?? '',
    drainTargets: resolution.nodes[0]?.drainTargets ?? [],
  }));
}

/** Its watch on the node's pods ends with `lifetime`. */
export function createSelfDrainer(
  { cluster, liveness, giveBack, byController }: SelfDrainParts,
  dependencies: ClusterDependencies,
  lifetime: AbortSignal,
): Drainer {
  const { client, clock, log, nodeName } = dependencies;
  const evictions = createSelfEvictions(dependencies);
  const status = createSelfStatus(dependencies);
  const removals = createSelfRemovals(dependencies);
  const ender = createPodEnder({ client, clock, evictions, removals });
  const pods = createNodePods(dependencies, lifetime);
  /** When the node was seen cordoned, on the monotonic clock; undefined before that. */
  let cordonedAt: number | undefined;

  /** Whether still no controller is alive, read now: what follows must not be done twice. */
  const isAlone = async (signal: AbortSignal): Promise<boolean> => (await liveness.observe(0, signal)).kind === 'dead';

  /** Returns whether the node is cordoned, and this agent still alone. */
  const keepCordon = async (maintenances: readonly NodeMaintenance[], signal: AbortSignal): Promise<boolean> => {
    if (cordonedAt !== undefined && clock.monotonic() - cordonedAt < CORDON_EVERY_MS) return true;
    const wantedBy = maintenances.map(({ metadata }) => metadata.name);
    const mayWrite = (): Promise<boolean> => isAlone(signal);
    const outcome = await syncCordon(client, { node: nodeName, wantedBy, mayWrite }, signal);
    if (outcome === 'changed') log.info({ maintenances: wantedBy }, 'cordoned own node');
    if (outcome !== 'not-allowed') cordonedAt = clock.monotonic();
    return outcome !== 'not-allowed';
  };

  /** Writes the status of each drain of this node alone; returns whether all targets are recorded. */
  const record = async (own: readonly SelfDrain[], all: readonly Pod[], signal: AbortSignal): Promise<boolean> => {
    const scope = ender.scopeOf(own, all, cluster.requests());
    const blocking = [
      ...evictions.blocking(all),
      ...blockedByInterceptors(own, all, scope.requestOf, scope.isOutOfTime),
    ];
    const left = { list: all, blocking, requestOf: scope.requestOf };
    for (const drain of own.filter(({ maintenance }) => soleNodeOf(maintenance) === nodeName)) {
      if (!(await status.write(drain, left, () => isAlone(signal), signal))) return false;
    }
    return true;
  };

  const drain = async (facts: DrainFacts, signal: AbortSignal): Promise<OwnPass | undefined> => {
    const { maintenances } = facts;
    const cache = pods.watch();
    cluster.watchRequests(true);
    if (!cache.synced() || !cluster.requestsSynced()) return undefined;
    if (!(await keepCordon(maintenances, signal))) return undefined;
    const all = cache.list().filter((pod) => !isTerminal(pod));
    const due = (maintenance: NodeMaintenance): number => dueTiersOf(maintenance, all, clock.now()).position;
    const left = drainPodsOfNode(all, drainPodsOf(facts.view));
    const own = resolveSelfDrains(status.latest(maintenances), nodeName, left, due);
    // The targets are written before pods leave by them: the gate of DaemonSets goes by the status.
    if (!(await record(own, all, signal))) return undefined;
    const recorded = drainsOfNode(status.latest(maintenances), nodeName);
    const scope = ender.scopeOf(own, all, cluster.requests());
    const ended = await ender.end({ ...scope, recorded, mayAct: () => isAlone(signal) }, signal);
    const finished = own.filter(({ resolution }) => resolution.drained);
    return {
      ...ended,
      drains: drainsIn(own),
      drained: new Set(finished.map(({ maintenance }) => maintenance.metadata.name)),
    };
  };

  const stop = (): void => {
    pods.rest();
    evictions.forget();
    removals.forget();
    cordonedAt = undefined;
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
