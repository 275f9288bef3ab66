/** Whether a drain has come to something else since it was looked at last. */
import type { DrainPlanEntry } from '../../api/node-maintenance.ts';
import { selectorKey } from '../maintenance/drain-plan.ts';
import type { DrainResolution } from './resolution.ts';

type Targets = readonly DrainPlanEntry[];

function isSameTargets(a: Targets, b: Targets): boolean {
  return (
    a.length === b.length &&
    a.every((entry, index) => {
      const other = b[index];
      return (
        entry.podType === other?.podType &&
        entry.podPriority === other.podPriority &&
        selectorKey(entry.podSelector) === selectorKey(other.podSelector)
      );
    })
  );
}

/** Whether a drain does the same by both on the same nodes; which pods are left there is not compared. */
export function isSameResolution(a: DrainResolution, b: DrainResolution): boolean {
  if (a === b) return true;
  if (a.position !== b.position || a.drained !== b.drained || a.nodes.length !== b.nodes.length) return false;
  return a.nodes.every((node, index) => {
    const other = b.nodes[index];
    return (
      node.name === other?.name &&
      node.uid === other.uid &&
      node.position === other.position &&
      node.message === other.message &&
      isSameTargets(node.drainTargets, other.drainTargets)
    );
  });
}
