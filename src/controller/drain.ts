import type { EvictionRequest } from '../api/eviction-request.ts';
import { AGENT_LABEL, FORCE_ANNOTATION, MAINTENANCE_REQUESTER, NODE_LABEL } from '../api/names.ts';
import type { NodeMaintenance, NodeMaintenanceStatus } from '../api/node-maintenance.ts';
import type { Node, Pod } from '../api/pod.ts';
import { whyBlocking } from '../decide/blocking-pods.ts';
import { type GuardedDrain, guardControlPlane } from '../decide/control-plane-guard.ts';
import { estimateDrain } from '../decide/drain-estimate.ts';
import type { DueTiers } from '../decide/deadline.ts';
import { effectiveDrainPlan, entryCovers } from '../decide/drain-plan.ts';
import { type Drain, type DrainResolution, type NodeResolution, resolveDrains } from '../decide/drain-resolution.ts';
import { admitEvictions } from '../decide/eviction-limits.ts';
import { isFinished } from '../decide/eviction-request.ts';
import { isInBackground } from '../decide/imperative-eviction.ts';
import { selectsNode, stageOf } from '../decide/maintenance.ts';
import { deadlineOf, dueTiersOf } from '../decide/maintenance-deadline.ts';
import { drainStatus, type NodeObservation, waitingStatus } from '../decide/maintenance-status.ts';
import { admitDrains } from '../decide/parallel-drains.ts';
import { type DrainPod, drainPodOf, isTerminal } from '../decide/pod.ts';
import type { ControllerContext } from './context.ts';

/** A pod whose eviction is to be requested now. */
export interface EvictionWish {
  readonly node: string;
  readonly pod: DrainPod;
}

/** What a look at a maintenance in the Drain stage came to. */
export interface DrainLook {
  readonly status: NodeMaintenanceStatus;
  readonly resolution: DrainResolution | undefined;
  /** In the order of the plan. */
  readonly wishes: readonly EvictionWish[];
  /** When a deadline makes the next tier due, in milliseconds since the epoch; absent where none does. */
  readonly dueAt?: number;
}

/** Looks at all drains of the cluster as it is in our copies; writes nothing. */
export interface DrainObserver {
  look(maintenance: NodeMaintenance, now: number): DrainLook;
  /** The nodes that have pods which a drain would take. */
  busyNodes(): ReadonlySet<string>;
}

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
  const nodesOf = (maintenance: NodeMaintenance): readonly Node[] =>
    context.nodes.list().filter((node) => selectsNode(maintenance, node));
  const requestOf = ({ metadata }: Pod): EvictionRequest | undefined =>
    context.requests.get(`${metadata.namespace}/${metadata.uid}`);

  const dueOf = (maintenance: NodeMaintenance, pods: ReadonlyMap<string, readonly Pod[]>, now: number): DueTiers => {
    if (deadlineOf(maintenance) === undefined) return { position: 0 };
    const own = nodesOf(maintenance).flatMap(({ metadata }) => pods.get(metadata.name) ?? []);
    return dueTiersOf(maintenance, own, now);
  };

  const drainOf = (maintenance: NodeMaintenance, pods: ReadonlyMap<string, readonly Pod[]>, now: number): Drain => {
    const recorded = maintenance.status?.nodeStatuses ?? [];
    return {
      name: maintenance.metadata.name,
      createdAt: Date.parse(maintenance.metadata.creationTimestamp ?? ''),
      plan: effectiveDrainPlan(maintenance.spec.drainPlan ?? []),
      position: Math.max(maintenance.status?.drainPlanPosition ?? 0, dueOf(maintenance, pods, now).position),
      nodes: nodesOf(maintenance).map(({ metadata: { name } }) => ({
        name,
        pods: (pods.get(name) ?? []).map(drainPodOf),
        recorded: recorded.find(({ nodeRef }) => nodeRef.name === name)?.drainTargets ?? [],
      })),
    };
  };

  const candidateOf = ({ node, pod }: EvictionWish): EvictionWish & { namespace: string; inProgress: boolean } => {
    const request = context.requests.get(`${pod.namespace}/${pod.uid}`);
    const requested = request?.spec.requesters?.some(({ name }) => name === MAINTENANCE_REQUESTER) === true;
    const known = context.pods.get(`${pod.namespace}/${pod.name}`);
    const inProgress = requested || (known !== undefined && isInBackground(known));
    return { node, pod, namespace: pod.namespace, inProgress };
  };

  /** What other maintenances have in flight, or this one for pods that are on their way out of its targets. */
  const elsewhere = (wishes: readonly EvictionWish[]): readonly { node: string; namespace: string }[] => {
    const own = new Set(wishes.map(({ pod }) => pod.uid));
    return context.requests.list().flatMap((request) => {
      const { name, namespace = 'default', labels } = request.metadata;
      const ours = request.spec.requesters?.some((requester) => requester.name === MAINTENANCE_REQUESTER) === true;
      if (!ours || own.has(name) || isFinished(request)) return [];
      return [{ node: labels?.[NODE_LABEL] ?? '', namespace }];
    });
  };

  const guardedOf = (maintenance: NodeMaintenance): GuardedDrain => {
    const { name, creationTimestamp = '', labels, annotations } = maintenance.metadata;
    return {
      name,
      createdAt: Date.parse(creationTimestamp),
      begun: maintenance.status?.drainPlanPosition !== undefined,
      nodes: nodesOf(maintenance).map(({ metadata }) => metadata.name),
      // Where a node's agent made it, the machine goes down in any case: holding its pods there saves nothing.
      forced: annotations?.[FORCE_ANNOTATION] === 'true' || labels?.[AGENT_LABEL] !== undefined,
    };
  };

  /** Which of the maintenances may not drain now, and why: the control plane first, then the limit of nodes at once. */
  const heldBack = (draining: readonly NodeMaintenance[]): ReadonlyMap<string, string> => {
    const drains = draining.map(guardedOf);
    const held = new Map(guardControlPlane(context.nodes.list(), drains));
    const max = context.options.maxParallelNodes;
    if (max === undefined) return held;
    const free = drains.filter(({ name }) => !held.has(name));
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
      const draining = all.filter((each) => stageOf(each) === 'Drain');
      const held = heldBack(draining);
      const why = held.get(name);
      if (why !== undefined) {
        const nodes = nodesOf(maintenance).map(({ metadata }) => metadata.name);
        return { status: waitingStatus(maintenance, nodes, why, now), resolution: undefined, wishes: [] };
      }
      const pods = podsByNode();
      const drains = draining
        .filter(({ metadata }) => !held.has(metadata.name))
        .map((each) => drainOf(each, pods, now));
      const resolution = resolveDrains(drains).get(name);
      if (resolution === undefined) return { status: {}, resolution, wishes: [] };
      const plan = drains.find((drain) => drain.name === name)?.plan ?? [];
      const rank = ({ pod }: EvictionWish): number => plan.findIndex((entry) => entryCovers(entry, pod));
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
      const { nextAt: dueAt } = dueOf(maintenance, pods, now);
      return {
        status: drainStatus(maintenance, resolution, observe, now),
        resolution,
        wishes: limited.admitted,
        ...(dueAt === undefined ? {} : { dueAt }),
      };
    },
  };
}
