/** What of ours may stay on a node and on an EvictionRequest: everything else is given back. */
import type { EvictionRequest } from '../../api/eviction-request.ts';
import { MAINTENANCE_REQUESTER } from '../../api/names.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node, Pod } from '../../api/pod.ts';
import { targetsCover } from '../drain/plan.ts';
import { begunNode } from '../drain/recorded-node.ts';
import { isFinished } from '../eviction/request.ts';
import { isRequestedBy, otherRequesters } from '../eviction/requester.ts';
import { drainPodOf } from '../pod.ts';
import { drainsOfNode, isInProgress, type NodeDrain, selectsNode, stageOf } from './maintenance.ts';
import type { NodeState } from './node-conditions.ts';

/** The cordon and the conditions that may stay on a node: those of the maintenances in progress that select it now. */
export function nodeStateOf(maintenances: readonly NodeMaintenance[], node: Node, isEmpty: boolean): NodeState {
  const own = maintenances.filter((each) => isInProgress(each) && selectsNode(each, node));
  const draining = own.filter((each) => stageOf(each) === 'Drain').map(({ metadata }) => metadata.name);
  return {
    maintenances: own.map(({ metadata }) => metadata.name).toSorted(),
    draining,
    drained: draining.length > 0 && isEmpty,
  };
}

/**
 * The drains that have begun on this very Node object and still select it; none for a node that does not exist. A throttled
 * drain asks for no eviction, though it has the targets that others have reached.
 */
export function drainsOn(maintenances: readonly NodeMaintenance[], node: Node | undefined): readonly NodeDrain[] {
  if (node === undefined) return [];
  const begun = maintenances.filter((each) => {
    if (stageOf(each) !== 'Drain' || !selectsNode(each, node)) return false;
    return begunNode(each.status, node.metadata) !== undefined;
  });
  return drainsOfNode(begun, node.metadata.name);
}

/** What the maintenance controller does about an EvictionRequest that it does not want any more. */
export type RetentionStep =
  /** Nothing: the request is still wanted, or is none of ours. */
  | 'keep'
  /** It takes its requester entry back. */
  | 'withdraw'
  /** The request is over, and nobody else asks for it. */
  | 'delete';

/** What a request is judged by. */
export interface RequestSurroundings {
  /** The target, where it is still there. */
  readonly pod: Pod | undefined;
  /** Those of `drainsOn` the node of the target. */
  readonly drains: readonly NodeDrain[];
  /** Whether the controller withdrew from the request, or a maintenance of its node is being completed. */
  readonly isReleased: boolean;
}

/**
 * The requester entry stays only while the targets of a drain cover the pod (KEP-4212, "Drain"); on a request that is over,
 * while its node is being drained.
 */
export function decideRetention(
  request: EvictionRequest,
  { pod, drains, isReleased }: RequestSurroundings,
): RetentionStep {
  const isOver = isFinished(request);
  const isWanted =
    pod === undefined || isOver
      ? drains.length > 0
      : drains.some(({ drainTargets }) => targetsCover(drainTargets, drainPodOf(pod)));
  if (isWanted) return 'keep';
  const isOurs = isRequestedBy(request, MAINTENANCE_REQUESTER);
  const isWantedByOthers = otherRequesters(request, MAINTENANCE_REQUESTER).length > 0;
  // Finalizers hold a request that is being deleted: it cannot go, but nothing of ours stays on it.
  const isHeld = request.metadata.deletionTimestamp !== undefined;
  if (isOurs && (isWantedByOthers || !isOver || isHeld)) return 'withdraw';
  return isOver && !isWantedByOthers && !isHeld && (isOurs || isReleased) ? 'delete' : 'keep';
}
