/** What a new status of a maintenance says that the one before it did not. */
import type { NodeMaintenanceStatus, NodeStatus } from '../../api/node-maintenance.ts';
import { sortedJson } from '../json.ts';
import { nodeStatusesOf } from '../maintenance/recorded-node.ts';

export type StatusChange =
  /** Something by which others act: targets, stages, conditions. */
  | 'significant'
  /** A count, or which pods block and why: it is for people. */
  | 'progress'
  /** The same in other words: the number of a retry, the time of a sign of life, an estimate that moves with the time. */
  | 'repetition';

/** The statuses of nodes, each for itself and in one order: a node that goes into a group, or comes out of it, changes its place. */
function nodesInOrder(status: NodeMaintenanceStatus): readonly NodeStatus[] {
  return nodeStatusesOf(status).toSorted((a, b) => (a.nodeRef.name < b.nodeRef.name ? -1 : 1));
}

/** The parts of a status by which others act; the counts and texts beside them are for people. */
function essence(status: NodeMaintenanceStatus): string {
  const nodeStatuses = nodesInOrder(status).map(
    ({ nodeRef, drainTargets, drainPlanPosition, drainStartTime, budgetsNotAsked }) => {
      return { nodeRef, drainTargets, drainPlanPosition, drainStartTime, budgetsNotAsked };
    },
  );
  const conditions = (status.conditions ?? []).map(({ type, status: is, reason }) => ({ type, is, reason }));
  return sortedJson({ ...status, summary: undefined, nodeGroups: undefined, nodeStatuses, conditions });
}

/** A text of which nothing but the numbers may differ. */
function withoutNumbers(text: string | undefined): string | undefined {
  return text?.replaceAll(/\d+/gu, '#');
}

/** The progress that a status tells, without what moves while nothing happens. */
function progress(status: NodeMaintenanceStatus): string {
  const nodeStatuses = nodesInOrder(status).map(({ podsBlocking = [], ...node }) => ({
    ...node,
    expectedFinishTime: undefined,
    podsBlocking: podsBlocking.map((pod) => ({ ...pod, message: withoutNumbers(pod.message) })),
  }));
  const conditions = status.conditions?.map((each) => ({ ...each, message: withoutNumbers(each.message) }));
  return sortedJson({ ...status, nodeGroups: undefined, nodeStatuses, conditions });
}

/** What the fields of `after` change in the status `before`. */
export function statusChange(before: NodeMaintenanceStatus | undefined, after: NodeMaintenanceStatus): StatusChange {
  if (before === undefined) return 'significant';
  // New statuses of nodes replace all that was known of nodes.
  const { nodeGroups: _, ...others } = before;
  const merged = { ...(after.nodeStatuses === undefined ? before : others), ...after };
  if (essence(merged) !== essence(before)) return 'significant';
  return progress(merged) === progress(before) ? 'repetition' : 'progress';
}
