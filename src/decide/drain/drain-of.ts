import type { DrainPlanEntry, NodeMaintenance, NodeMaintenanceStatus, NodeStatus } from '../../api/node-maintenance.ts';
import { stageOf } from '../maintenance/maintenance.ts';
import { timeOf } from '../time.ts';
import type { Drain, DrainNode } from './field.ts';
import { effectiveDrainPlan } from './plan.ts';
import { begunNodes, type NodeIdentity, recordedNodes } from './recorded-node.ts';
import { entriesReached, mostPowerful } from './targets.ts';

/** What is seen of a drain. */
export interface DrainScope {
  /** The nodes that are seen, with the pods that are still on them. */
  readonly nodes: readonly (NodeIdentity & Pick<DrainNode, 'pods' | 'volumes'>)[];
  /** Whether these are all nodes of the maintenance. Of others its plan goes no further than they have reached. */
  readonly isWhole: boolean;
  /** How many entries of the plan a deadline has reached; 0 for none. */
  readonly due: number;
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
function positionOf(
  plan: readonly DrainPlanEntry[],
  status: NodeMaintenanceStatus | undefined,
  recorded: NodeStatus | undefined,
): number {
  if (recorded?.drainPlanPosition !== undefined) return recorded.drainPlanPosition;
  // An older version wrote one position for all nodes, and an agent that hands its drain over writes the targets alone.
  const { drainTargets = [] } = recorded ?? {};
  return drainTargets.length === 0 ? 0 : Math.max(status?.drainPlanPosition ?? 0, entriesReached(plan, drainTargets));
}

/** Those of the nodes that a drain has not begun to drain, though it has begun: they joined it later, or registered again. */
export function joiningNodes({ status }: NodeMaintenance, nodes: readonly NodeIdentity[]): readonly NodeIdentity[] {
  if ((status?.drainPlanPosition ?? 0) === 0) return [];
  const begunOf = begunNodes(status);
  return nodes.filter((node) => begunOf(node) === undefined);
}

/** A maintenance in the Drain stage as the resolution takes it, within the scope of who drains. */
export function drainOfMaintenance(
  { metadata, spec, status }: NodeMaintenance,
  { nodes, isWhole, due }: DrainScope,
): Drain {
  const plan = effectiveDrainPlan(spec.drainPlan ?? []);
  const recordedOf = recordedNodes(status);
  const begun = nodes.map(({ pods, ...node }) => {
    const recorded = recordedOf(node);
    const position = Math.min(plan.length, Math.max(positionOf(plan, status, recorded), isWhole ? due : 0));
    return { ...node, pods, recorded: recorded?.drainTargets ?? [], position };
  });
  const started = status?.stageStatuses?.find(({ name }) => name === 'Drain');
  const reached = Math.min(...begun.map(({ position }) => position));
  return {
    name: metadata.name,
    startedAt: timeOf(started?.startTimestamp) ?? Infinity,
    plan: isWhole ? plan : plan.slice(0, Math.max(1, reached)),
    nodes: begun,
  };
}
