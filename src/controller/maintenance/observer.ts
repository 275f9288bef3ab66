import type { EvictionRequest } from '../../api/eviction-request.ts';
import { FORCE_ANNOTATION, MAINTENANCE_REQUESTER } from '../../api/names.ts';
import type { NodeMaintenance, NodeMaintenanceStatus } from '../../api/node-maintenance.ts';
import type { Pod } from '../../api/pod.ts';
import { whyBlocking } from '../../decide/drain/blocking-pods.ts';
import { type GuardedDrain, guardControlPlane } from '../../decide/maintenance/control-plane-guard.ts';
import { estimateDrain } from '../../decide/drain/estimate.ts';
import type { DueTiers } from '../../decide/deadline/budget.ts';
import { effectiveDrainPlan, entryCovers } from '../../decide/drain/plan.ts';
import { type Drain, drainsAround } from '../../decide/drain/field.ts';
import { type DrainResolution, type NodeResolution, resolveDrains } from '../../decide/drain/resolution.ts';
import { admitEvictions } from '../../decide/eviction/limits.ts';
import { isFinished } from '../../decide/eviction/request.ts';
import { isInBackground } from '../../decide/eviction/imperative.ts';
import { agentNodeOf, stageOf } from '../../decide/maintenance/maintenance.ts';
import { deadlineOf, dueTiersOf } from '../../decide/deadline/maintenance.ts';
import { drainStatus, type NodeObservation, waitingStatus } from '../../decide/drain/status.ts';
import { requestNodeOf } from '../../decide/node-label.ts';
import { admitDrains, crowdedDrains } from '../../decide/maintenance/parallel.ts';
import { type DrainPod, drainPodOf, isTerminal } from '../../decide/pod.ts';
import { timeOf } from '../../decide/time.ts';
import type { ControllerContext } from '../context.ts';
import { selectedNodes } from './selected-nodes.ts';

/** A pod whose eviction is to be requested now. */
export interface EvictionIntent {
  readonly node: string;
  readonly pod: DrainPod;
}

/** What a look at a maintenance in the Drain stage came to. */
export interface DrainObservation {
  readonly status: NodeMaintenanceStatus;
  readonly resolution: DrainResolution | undefined;
  /** In the order of the plan. */
  readonly wishes: readonly EvictionIntent[];
  /** When a deadline makes the next tier due, in milliseconds since the epoch; absent where none does. */
  readonly dueAt?: number;
}

/** Looks at all drains of the cluster as it is in our copies; writes nothing. */
export interface DrainObserver {
  look(maintenance: NodeMaintenance, now: number): DrainObservation;
  /** The nodes that have pods which a drain would take. */
  busyNodes(): ReadonlySet<string>;
}

/** A maintenance in the Drain stage, and the names of the nodes that it selects. */
interface Draining extends GuardedDrain {
  readonly maintenance: NodeMaintenance;
}

/** A node has a few: its shutdown, a notice, a person's. Each more of them is one more to compare with all the others. */
const MAX_ALONE = 20;

/** Makes the observer. */
export function createDrainObserver(context: ControllerContext): DrainObserver {
  const podsByNode = (): ReadonlyMap<string, readonly Pod[]> => {
    const byNode = new Map<string, Pod[]>();
    for (const pod of context.pods.list()) {
      const node = pod.spec.nodeName;
      if (node === undefined || isTerminal(pod)) continue;
      const known = byNode.get(node);
      if (known === undefined) byNode.set(node, [pod]);
      else known.push(pod);
    }
    return byNode;
  };
  const requestOf = ({ metadata }: Pod): EvictionRequest | undefined =>
    context.requests.get(`${metadata.namespace}/${metadata.uid}`);

  const dueOf = (
    { maintenance, nodes }: Draining,
    pods: ReadonlyMap<string, readonly Pod[]>,
    now: number,
  ): DueTiers => {
    if (deadlineOf(maintenance) === undefined) return { position: 0 };
    const own = nodes.flatMap((name) => pods.get(name) ?? []);
    return dueTiersOf(maintenance, own, now);
  };

  /** The drains of maintenances that have to do with each other. */
  const drainsOf = (
    draining: readonly Draining[],
    pods: ReadonlyMap<string, readonly Pod[]>,
    now: number,
  ): readonly Drain[] => {
    const drainPods = new Map<string, readonly DrainPod[]>();
    const podsOn = (node: string): readonly DrainPod[] => {
      const known = drainPods.get(node) ?? (pods.get(node) ?? []).map(drainPodOf);
      drainPods.set(node, known);
      return known;
    };
    return draining.map((each) => {
      const { metadata, spec, status } = each.maintenance;
      const recorded = new Map(status?.nodeStatuses?.map(({ nodeRef, drainTargets }) => [nodeRef.name, drainTargets]));
      return {
        name: metadata.name,
        createdAt: Date.parse(metadata.creationTimestamp ?? ''),
        plan: effectiveDrainPlan(spec.drainPlan ?? []),
        position: Math.max(status?.drainPlanPosition ?? 0, dueOf(each, pods, now).position),
        nodes: each.nodes.map((name) => ({ name, pods: podsOn(name), recorded: recorded.get(name) ?? [] })),
      };
    });
  };

  const candidateOf = ({ node, pod }: EvictionIntent): EvictionIntent & { namespace: string; inProgress: boolean } => {
    const request = context.requests.get(`${pod.namespace}/${pod.uid}`);
    const requested = request?.spec.requesters?.some(({ name }) => name === MAINTENANCE_REQUESTER) === true;
    const known = context.pods.get(`${pod.namespace}/${pod.name}`);
    const inProgress = requested || (known !== undefined && isInBackground(known));
    return { node, pod, namespace: pod.namespace, inProgress };
  };

  /** What other maintenances have in flight, or this one for pods that are on their way out of its targets. */
  const elsewhere = (wishes: readonly EvictionIntent[]): readonly { node: string; namespace: string }[] => {
    const own = new Set(wishes.map(({ pod }) => pod.uid));
    return context.requests.list().flatMap((request) => {
      const { name, namespace = 'default' } = request.metadata;
      const ours = request.spec.requesters?.some((requester) => requester.name === MAINTENANCE_REQUESTER) === true;
      if (!ours || own.has(name) || isFinished(request)) return [];
      return [{ node: requestNodeOf(request.metadata), namespace }];
    });
  };

  const drainingOf = (maintenance: NodeMaintenance): Draining => {
    const { name, creationTimestamp, annotations } = maintenance.metadata;
    return {
      name,
      maintenance,
      createdAt: timeOf(creationTimestamp) ?? Infinity,
      begun: maintenance.status?.drainPlanPosition !== undefined,
      nodes: selectedNodes(context, maintenance).map(({ metadata }) => metadata.name),
      // Where a node's agent made it, the machine goes down in any case: holding its pods there saves nothing.
      forced: annotations?.[FORCE_ANNOTATION] === 'true' || agentNodeOf(maintenance) !== undefined,
    };
  };

  /**
   * Which of the maintenances may not drain now, and why: those that are too many for one node, then those that would take
   * the control plane, then those beyond the limit of nodes at once.
   */
  const heldBack = (draining: readonly Draining[]): ReadonlyMap<string, string> => {
    const crowded = crowdedDrains(draining, MAX_ALONE);
    const crowd = `Waiting for other maintenances of the node: at most ${MAX_ALONE} drain it at once.`;
    const rest = draining.filter(({ name }) => !crowded.has(name));
    const held = new Map(guardControlPlane(context.nodes.list(), rest));
    for (const name of crowded) held.set(name, crowd);
    const max = context.options.maxParallelNodes;
    if (max === undefined) return held;
    // A machine that goes down in any case takes no place of others: its node could keep that for ever.
    const free = rest.filter(({ name, maintenance }) => !held.has(name) && agentNodeOf(maintenance) === undefined);
    const admitted = admitDrains(free, max);
    const message = `Waiting for other maintenances: at most ${max} ${max === 1 ? 'node is' : 'nodes are'} drained at once.`;
    for (const { name } of free) if (!admitted.has(name)) held.set(name, message);
    return held;
  };

  return {
    busyNodes: () => new Set(podsByNode().keys()),
    look: (maintenance, now) => {
      const { name } = maintenance.metadata;
      // Of itself it is told more than our copy may show yet: what it has reached is not to be decided from before that.
      const all = context.maintenances.list().map((each) => (each.metadata.name === name ? maintenance : each));
      const draining = all.filter((each) => stageOf(each) === 'Drain').map(drainingOf);
      const held = heldBack(draining);
      const own = draining.find((each) => each.name === name);
      const why = held.get(name);
      if (own === undefined || why !== undefined) {
        const status = waitingStatus(maintenance, own?.nodes ?? [], why ?? '', now);
        return { status: own === undefined ? {} : status, resolution: undefined, wishes: [] };
      }
      const pods = podsByNode();
      const free = draining.filter((each) => !held.has(each.name));
      const drains = drainsOf(drainsAround(free, name), pods, now);
      const resolution = resolveDrains(drains).get(name);
      if (resolution === undefined) return { status: {}, resolution, wishes: [] };
      const plan = drains.find((drain) => drain.name === name)?.plan ?? [];
      const rank = ({ pod }: EvictionIntent): number => plan.findIndex((entry) => entryCovers(entry, pod));
      const wishes = resolution.nodes
        .flatMap(({ name: node, evicting }) => evicting.map((pod) => ({ node, pod })))
        .toSorted((a, b) => rank(a) - rank(b));
      const limited = admitEvictions(wishes.map(candidateOf), context.options, elsewhere(wishes));
      const observe = (node: NodeResolution): NodeObservation => {
        const known = pods.get(node.name) ?? [];
        const leaving = new Set(node.evicting.map(({ uid }) => uid));
        const evicting = known.filter(({ metadata }) => leaving.has(metadata.uid ?? ''));
        const pending = known.filter(({ metadata }) => !leaving.has(metadata.uid ?? ''));
        const object = context.nodes.get(node.name);
        return {
          blocking: evicting.flatMap((pod) => whyBlocking(pod, requestOf(pod), object, now) ?? []),
          expectedFinishAt: estimateDrain(plan, evicting, pending, requestOf, now),
          held: limited.held.filter((wish) => wish.node === node.name).length,
          escapedDaemonSets: context.escapes.escapedOn(node.name),
        };
      };
      const { nextAt: dueAt } = dueOf(own, pods, now);
      return {
        status: drainStatus(maintenance, resolution, observe, now),
        resolution,
        wishes: limited.admitted,
        ...(dueAt === undefined ? {} : { dueAt }),
      };
    },
  };
}
