/** What of ours may stay on a node and on an EvictionRequest: everything else is given back. */
import type { EvictionRequest } from '../../api/eviction-request.ts';
import { MAINTENANCE_REQUESTER } from '../../api/names.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node, Pod } from '../../api/pod.ts';
import { targetsCover } from '../maintenance/drain-plan.ts';
import { isKept } from '../kept-pods/kept-pods.ts';
import { begunNode, recordedNode } from '../maintenance/recorded-node.ts';
import { isFinished, isMadeByDrain } from '../eviction/request.ts';
import { isRequestedBy, otherRequesters } from '../eviction/requester.ts';
import { type DrainPod, drainPodOf } from '../pod.ts';
import { isAgentsName } from '../maintenance/agent-names.ts';
import { drainsOfNode, type NodeDrain, selectsNode, stageOf } from '../maintenance/maintenance.ts';
import type { NodeState } from '../maintenance/node-conditions.ts';
import { timeOf } from '../time.ts';

/** For how long a finished maintenance can be read, in milliseconds: a week. */
const FINISHED_MS = 7 * 86_400_000;

/**
 * Until when a maintenance that is finished is kept, in milliseconds since the epoch; undefined where it is not finished or
 * nobody knows since when. One whose name a person chose is kept for ever: a program that made it might make it anew, and drain.
 */
export function finishedUntil({ metadata, spec, status }: NodeMaintenance): number | undefined {
  const { name, finalizers = [], deletionTimestamp } = metadata;
  const isOurs = isAgentsName(name) || name.startsWith('maintenance-');
  if (!isOurs || spec.stage !== 'Complete' || finalizers.length > 0 || deletionTimestamp !== undefined)
    return undefined;
  const since = timeOf(status?.stageStatuses?.find((each) => each.name === 'Complete')?.startTimestamp);
  return since === undefined ? undefined : since + FINISHED_MS;
}

/** Whether the maintenance drains and has begun to on this very Node object. */
function isBegunOn(maintenance: NodeMaintenance, { metadata }: Node): boolean {
  return stageOf(maintenance) === 'Drain' && begunNode(maintenance.status, metadata) !== undefined;
}

/**
 * Whether the maintenance is still to ask pods of the node to leave: in Idle, in Cordon, or in Drain where its status says that
 * it waits. A drain that nobody has looked at yet may begin at once.
 */
function isPlannedOn(maintenance: NodeMaintenance, node: Node): boolean {
  switch (stageOf(maintenance)) {
    case 'Idle':
      return maintenance.metadata.deletionTimestamp === undefined;
    case 'Cordon':
      return true;
    case 'Drain':
      return recordedNode(maintenance.status, node.metadata) !== undefined && !isBegunOn(maintenance, node);
    case 'Complete':
      return false;
  }
}

/**
 * Whether the maintenance has the node cordoned: in Cordon, and in Drain where that followed, where it has begun on the node,
 * or where its status has targets for the node, which others may have reached. A node that only waits for its place or its
 * turn keeps its room for the pods of those before it: an operator of a database does not move its primary to a cordoned node.
 */
function cordons(maintenance: NodeMaintenance, node: Node): boolean {
  if (stageOf(maintenance) !== 'Drain') return stageOf(maintenance) === 'Cordon';
  const wasCordoned = maintenance.status?.stageStatuses?.some(({ name }) => name === 'Cordon') === true;
  const { drainTargets = [] } = recordedNode(maintenance.status, node.metadata) ?? {};
  return wasCordoned || isBegunOn(maintenance, node) || drainTargets.length > 0;
}

/** The cordon and the conditions that may stay on a node: those of the maintenances that select it now. */
export function nodeStateOf(maintenances: readonly NodeMaintenance[], node: Node, isEmpty: boolean): NodeState {
  const selecting = maintenances.filter((each) => selectsNode(each, node));
  const own = selecting.filter((each) => cordons(each, node));
  const draining = own.filter((each) => isBegunOn(each, node));
  const planned = selecting.filter((each) => isPlannedOn(each, node));
  const namesOf = (list: readonly NodeMaintenance[]): readonly string[] =>
    list.map(({ metadata }) => metadata.name).toSorted();
  return {
    maintenances: namesOf(own),
    planned: namesOf(planned),
    draining: namesOf(draining),
    drained: draining.length > 0 && isEmpty,
  };
}

/**
 * The drains that have begun on this very Node object and still select it. A throttled drain asks for no eviction, though it has
 * the targets that others have reached.
 */
export function drainingOn(maintenances: readonly NodeMaintenance[], node: Node): readonly NodeMaintenance[] {
  return maintenances.filter((each) => isBegunOn(each, node) && selectsNode(each, node));
}

/** What those drains target; nothing for a node that does not exist. */
export function drainsOn(maintenances: readonly NodeMaintenance[], node: Node | undefined): readonly NodeDrain[] {
  return node === undefined ? [] : drainsOfNode(drainingOn(maintenances, node), node.metadata.name);
}

/** Whether any of the drains targets the pod and does not keep it. */
export function covers(drains: readonly NodeDrain[], pod: DrainPod): boolean {
  return drains.some(({ drainTargets, keep = [] }) => targetsCover(drainTargets, pod) && !isKept(keep, pod));
}

/** What the maintenance controller does about an EvictionRequest that it does not want any more. */
export type RetentionStep =
  /** Nothing: the request is still wanted, or is none of ours. */
  | 'keep'
  /** It takes its requester entry back. */
  | 'withdraw'
  /** The request is over, and nobody else asks for it. */
  | 'delete';

/**
 * The requester entry stays only while the targets of a drain cover the pod (KEP-4212, "Drain"); on a request that is over,
 * while its node is being drained. `pod` is the target, where it is still there, and `drains` are those of `drainsOn` its node.
 */
export function decideRetention(
  request: EvictionRequest,
  pod: Pod | undefined,
  drains: readonly NodeDrain[],
): RetentionStep {
  const isOver = isFinished(request);
  const target = pod && drainPodOf(pod);
  const isWanted = target === undefined || isOver ? drains.length > 0 : covers(drains, target);
  if (isWanted) return 'keep';
  const isOurs = isRequestedBy(request, MAINTENANCE_REQUESTER);
  const isWantedByOthers = otherRequesters(request, MAINTENANCE_REQUESTER).length > 0;
  // Finalizers hold a request that is being deleted: it cannot go, but nothing of ours stays on it.
  const isDeleted = request.metadata.deletionTimestamp !== undefined;
  if (isOurs && (isWantedByOthers || !isOver || isDeleted)) return 'withdraw';
  return isOver && !isWantedByOthers && !isDeleted && (isOurs || isMadeByDrain(request)) ? 'delete' : 'keep';
}
