import type { EvictionRequest } from '../api/eviction-request.ts';
import { MAINTENANCE_REQUESTER, NODE_LABEL } from '../api/names.ts';
import type { NodeMaintenance, NodeMaintenanceStatus } from '../api/node-maintenance.ts';
import type { Node, Pod } from '../api/pod.ts';
import { whyBlocking } from '../decide/blocking-pods.ts';
import { estimateDrain } from '../decide/drain-estimate.ts';
import { effectiveDrainPlan } from '../decide/drain-plan.ts';
import { type Drain, type DrainResolution, type NodeResolution, resolveDrains } from '../decide/drain-resolution.ts';
import { admitEvictions } from '../decide/eviction-limits.ts';
import { isFinished } from '../decide/eviction-request.ts';
import { isInBackground } from '../decide/imperative-eviction.ts';
import { selectsNode, stageOf } from '../decide/maintenance.ts';
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
  readonly wishes: readonly EvictionWish[];
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

  const drainOf = (maintenance: NodeMaintenance, pods: ReadonlyMap<string, readonly Pod[]>): Drain => {
    const recorded = maintenance.status?.nodeStatuses ?? [];
    return {
      name: maintenance.metadata.name,
      createdAt: Date.parse(maintenance.metadata.creationTimestamp ?? ''),
      plan: effectiveDrainPlan(maintenance.spec.drainPlan ?? []),
      position: maintenance.status?.drainPlanPosition ?? 0,
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

  /** The maintenances that may drain now, by the limit of nodes under maintenance at once. */
  const admitted = (draining: readonly NodeMaintenance[]): ReadonlySet<string> => {
    const max = context.options.maxParallelNodes;
    if (max === undefined) return new Set(draining.map(({ metadata }) => metadata.name));
    const waiting = draining.map((maintenance) => ({
      name: maintenance.metadata.name,
      createdAt: Date.parse(maintenance.metadata.creationTimestamp ?? ''),
      begun: maintenance.status?.drainPlanPosition !== undefined,
      nodes: nodesOf(maintenance).map(({ metadata }) => metadata.name),
    }));
    return admitDrains(waiting, max);
  };

  return {
    busyNodes: () => new Set(podsByNode().keys()),
    look: (maintenance, now) => {
      const { name } = maintenance.metadata;
      // Of itself it is told more than our copy may show yet: what it has reached is not to be decided from before that.
      const all = context.maintenances.list().map((each) => (each.metadata.name === name ? maintenance : each));
      const draining = all.filter((each) => stageOf(each) === 'Drain');
      const allowed = admitted(draining);
      if (!allowed.has(name)) {
        const nodes = nodesOf(maintenance).map(({ metadata }) => metadata.name);
        const max = context.options.maxParallelNodes;
        const message = `Waiting for other maintenances: at most ${max} ${max === 1 ? 'node is' : 'nodes are'} drained at once.`;
        return { status: waitingStatus(maintenance, nodes, message, now), resolution: undefined, wishes: [] };
      }
      const pods = podsByNode();
      const drains = draining.filter(({ metadata }) => allowed.has(metadata.name)).map((each) => drainOf(each, pods));
      const resolution = resolveDrains(drains).get(name);
      if (resolution === undefined) return { status: {}, resolution, wishes: [] };
      const wishes = resolution.nodes.flatMap(({ name: node, evicting }) => evicting.map((pod) => ({ node, pod })));
      const limited = admitEvictions(wishes.map(candidateOf), context.options, elsewhere(wishes));
      const plan = drains.find((drain) => drain.name === name)?.plan ?? [];
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
      return { status: drainStatus(maintenance, resolution, observe, now), resolution, wishes: limited.admitted };
    },
  };
}
