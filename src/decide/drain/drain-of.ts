import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { DrainPod } from '../pod.ts';
import { timeOf } from '../time.ts';
import type { Drain } from './field.ts';
import { effectiveDrainPlan } from './plan.ts';

/** What is seen of a drain. */
export interface DrainScope {
  /** The nodes that are seen, with the pods that are still on them. */
  readonly nodes: readonly { readonly name: string; readonly pods: readonly DrainPod[] }[];
  /** Whether these are all nodes of the maintenance. Of others its plan goes no further than it was recorded. */
  readonly isWhole: boolean;
  /** How many entries of the plan a deadline has reached; 0 for none. */
  readonly due: number;
}

/** A maintenance in the Drain stage as the resolution takes it, within the scope of who drains. */
export function drainOfMaintenance(
  { metadata, spec, status }: NodeMaintenance,
  { nodes, isWhole, due }: DrainScope,
): Drain {
  const plan = effectiveDrainPlan(spec.drainPlan ?? []);
  const position = status?.drainPlanPosition ?? 0;
  const recorded = new Map(status?.nodeStatuses?.map(({ nodeRef, drainTargets }) => [nodeRef.name, drainTargets]));
  return {
    name: metadata.name,
    createdAt: timeOf(metadata.creationTimestamp) ?? Infinity,
    plan: isWhole ? plan : plan.slice(0, Math.max(1, position)),
    position: isWhole ? Math.max(position, due) : position,
    nodes: nodes.map(({ name, pods }) => ({ name, pods, recorded: recorded.get(name) ?? [] })),
  };
}
