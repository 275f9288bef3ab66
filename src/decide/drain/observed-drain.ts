import { planOf } from '../maintenance/drain-plan.ts';
import type { DrainPlanEntry, NodeMaintenance, NodeStatus } from '../../api/node-maintenance.ts';
import { agentNodeOf, stageOf } from '../maintenance/maintenance.ts';
import type { Deadline } from '../deadline/tiers.ts';
import { dueTiersOf } from '../deadline/maintenance.ts';
import { timeOf } from '../time.ts';
import { decideVolumes, type NodeVolumes, type VolumeFacts } from '../volume/wait.ts';
import type { Drain, DrainNode } from './overlapping-drains.ts';
import { keptBy, splitKept } from '../kept-pods/kept-pods.ts';
import { begunNodes, hasBegun, type NodeIdentity, recordedNodes } from '../maintenance/recorded-node.ts';
import { entriesReached, mostPowerful } from '../maintenance/drain-targets.ts';

/** A node of a drain as it is seen, with the pods that are still on it. */
interface SeenNode extends NodeIdentity, Pick<DrainNode, 'pods' | 'volumes' | 'guard'> {
  /** How many entries of the plan a deadline of the node has reached; 0 for none. */
  readonly due: number;
}

/**
 * How far time takes a drain on a node `now`, in milliseconds since the epoch: how many entries of its plan the earliest deadline of
 * the node's drains has reached, what the volumes of the node mean for it, and when either becomes another (Infinity for never).
 */
export function dueOnNode(
  maintenance: NodeMaintenance,
  { deadline, ...facts }: Omit<VolumeFacts, 'deadlineAt'> & { readonly deadline: Deadline | undefined },
  now: number,
): { readonly due: number; readonly volumes: NodeVolumes; readonly nextAt: number } {
  const { position: due, nextAt = Infinity } = dueTiersOf(maintenance, deadline, facts.pods, now);
  const volumes = decideVolumes(maintenance, { ...facts, deadlineAt: deadline?.at }, now);
  return { due, volumes, nextAt: Math.min(nextAt, volumes.until ?? Infinity) };
}

/** What is seen of a drain. */
interface DrainScope {
  readonly nodes: readonly SeenNode[];
  /** Whether its plan goes on with these nodes alone; otherwise it goes no further than they have reached. */
  readonly isWhole: boolean;
}

/**
 * What drains have recorded as reached on a node, whichever of them did: a drain that joins them later, or goes on when they
 * have ended, does not go back behind it (KEP-4212, DrainTargets).
 */
export function reachedTargets(
  maintenances: readonly NodeMaintenance[],
): (node: NodeIdentity) => readonly DrainPlanEntry[] {
  const recorded = maintenances.filter((each) => stageOf(each) === 'Drain').map(({ status }) => recordedNodes(status));
  return (node) => mostPowerful(recorded.flatMap((of) => [of(node)?.drainTargets ?? []]));
}

/** How many entries of the plan a node has reached; 0 for one that has just joined the maintenance. */
function positionOf(plan: readonly DrainPlanEntry[], recorded: NodeStatus | undefined): number {
  // An agent that hands its drain over writes the targets alone.
  return recorded?.drainPlanPosition ?? entriesReached(plan, recorded?.drainTargets ?? []);
}

/** Those of the nodes that a drain has not begun to drain, though it has begun: they joined it later, or registered again. */
export function joiningNodes({ status }: NodeMaintenance, nodes: readonly NodeIdentity[]): readonly NodeIdentity[] {
  if (!hasBegun(status)) return [];
  const begunOf = begunNodes(status);
  return nodes.filter((node) => begunOf(node) === undefined);
}

/** A maintenance in the Drain stage as the resolution takes it, within the scope of who drains. */
export function drainOfMaintenance(maintenance: NodeMaintenance, { nodes, isWhole }: DrainScope): Drain {
  const { metadata, status } = maintenance;
  const [plan, keep] = [planOf(maintenance), keptBy(maintenance)];
  const recordedOf = recordedNodes(status);
  const begun = nodes.map((node) => {
    const { due } = node;
    const recorded = recordedOf(node);
    const position = Math.min(plan.length, Math.max(positionOf(plan, recorded), due));
    return { ...node, ...splitKept(node.pods, keep), recorded: recorded?.drainTargets ?? [], position };
  });
  const started = status?.stageStatuses?.find(({ name }) => name === 'Drain');
  const reached = Math.min(...begun.map(({ position }) => position));
  const agentNode = agentNodeOf(maintenance);
  return {
    name: metadata.name,
    startedAt: timeOf(started?.startTimestamp) ?? Infinity,
    plan: isWhole ? plan : plan.slice(0, Math.max(1, reached)),
    nodes: begun,
    ...(keep.length === 0 ? {} : { keep }),
    ...(agentNode === undefined ? {} : { agentNode }),
  };
}
