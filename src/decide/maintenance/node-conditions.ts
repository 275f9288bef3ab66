import { CORDONED_ANNOTATION } from '../../api/names.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node, NodeCondition } from '../../api/pod.ts';
import { firstNames } from '../name-list.ts';
import { isBegunOn, selectsNode, stageOf } from './maintenance.ts';
import { recordedNode } from './recorded-node.ts';

/** What a node is in the middle of. */
export interface NodeState {
  /** Maintenances that keep the node cordoned, by name. */
  readonly maintenances: readonly string[];
  /** Maintenances that ask none of its pods to leave yet: in the stages Idle and Cordon, and drains that wait for their turn. */
  readonly planned: readonly string[];
  /** The drains that have begun on it: its pods are asked to leave, or have left. */
  readonly draining: readonly string[];
  /** Whether all of its pods are gone. */
  readonly drained: boolean;
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
 * where its status has targets for the node, which others may have reached, or where the cordon names it: its agent has begun
 * alone, and no status may be written. A node that only waits for its place or its turn keeps its room for the pods of those
 * before it: an operator of a database does not move its primary to a cordoned node.
 */
function cordons(maintenance: NodeMaintenance, node: Node): boolean {
  if (stageOf(maintenance) !== 'Drain') return stageOf(maintenance) === 'Cordon';
  const wasCordoned = maintenance.status?.stageStatuses?.some(({ name }) => name === 'Cordon') === true;
  const { drainTargets = [] } = recordedNode(maintenance.status, node.metadata) ?? {};
  const isNamed = node.metadata.annotations?.[CORDONED_ANNOTATION] === maintenance.metadata.name;
  return wasCordoned || isBegunOn(maintenance, node) || drainTargets.length > 0 || isNamed;
}

/** The cordon and the conditions that may stay on a node: those of the maintenances that select it now. */
export function nodeStateOf(maintenances: readonly NodeMaintenance[], node: Node, isEmpty: boolean): NodeState {
  const selecting = maintenances.filter((each) => selectsNode(each, node));
  const own = selecting.filter((each) => cordons(each, node));
  const draining = own.filter((each) => isBegunOn(each, node));
  const planned = selecting.filter((each) => isPlannedOn(each, node));
  const namesOf = (list: readonly NodeMaintenance[]) => list.map(({ metadata }) => metadata.name).toSorted();
  return {
    maintenances: namesOf(own),
    planned: namesOf(planned),
    draining: namesOf(draining),
    drained: draining.length > 0 && isEmpty,
  };
}

/** Maintenances that a condition names. */
const MAX_NAMED = 10;

/** The standard conditions of KEP-5683 that are kept on a node under maintenance; they are False afterwards. */
export const NODE_CONDITIONS = ['MaintenancePlanned', 'MaintenanceInProgress', 'DrainInProgress', 'Drained'] as const;

/** The condition of the kubelet while it shuts the node down gracefully (KEP-6249). This program never sets it. */
const KUBELET_SHUTS_DOWN = 'GracefulNodeShutdownInProgress';

/** The reasons that this program writes: a condition with another one is somebody else's. */
const REASONS: ReadonlySet<string | undefined> = new Set([
  'NodeMaintenance',
  'MaintenanceComplete',
  'NoDrain',
  'Draining',
  'DrainCompleted',
]);

/** Whether this program has written the condition last, by its reason. */
export function isOurCondition({ reason }: NodeCondition): boolean {
  return REASONS.has(reason);
}

/** Whether the condition of that type is True, whoever has set it. */
function isTrue({ status }: Node, type: string): boolean {
  return status?.conditions?.some((each) => each.type === type && each.status === 'True') === true;
}

/**
 * The conditions of a node that have to be written (KEP-5683); none where they are right, or were never needed. What somebody else has
 * set is not cleared, and not changed while it is True (KEP-6249): the kubelet and people write conditions of these types too.
 * While the kubelet shuts the node down, DrainInProgress stays True though it is ours: with both, the DaemonSet controller makes
 * no pods that the kubelet would refuse.
 */
export function decideNodeConditions(node: Node, state: NodeState): readonly NodeCondition[] {
  const { maintenances, planned, draining, drained } = state;
  const by = (names: readonly string[]): string => `by ${firstNames(names, MAX_NAMED)}`;
  const wanted: Record<(typeof NODE_CONDITIONS)[number], NodeCondition> = {
    MaintenancePlanned: {
      type: 'MaintenancePlanned',
      status: planned.length > 0 ? 'True' : 'False',
      reason: planned.length > 0 ? 'NodeMaintenance' : 'MaintenanceComplete',
      message: planned.length > 0 ? `maintenance planned ${by(planned)}` : '',
    },
    // Controllers of workloads make replacements for the pods of a node that has it: a cordon alone is no reason for that.
    MaintenanceInProgress: {
      type: 'MaintenanceInProgress',
      status: draining.length > 0 ? 'True' : 'False',
      reason: draining.length > 0 ? 'NodeMaintenance' : 'MaintenanceComplete',
      message: draining.length > 0 ? `under maintenance ${by(draining)}` : '',
    },
    DrainInProgress: {
      type: 'DrainInProgress',
      status: draining.length > 0 && !drained ? 'True' : 'False',
      reason: draining.length === 0 ? 'NoDrain' : drained ? 'DrainCompleted' : 'NodeMaintenance',
      message: draining.length > 0 && !drained ? `drained ${by(draining)}` : '',
    },
    Drained: {
      type: 'Drained',
      status: draining.length > 0 && drained ? 'True' : 'False',
      reason: draining.length === 0 ? 'NoDrain' : drained ? 'DrainCompleted' : 'Draining',
      message: draining.length > 0 && drained ? `drained ${by(draining)}` : '',
    },
  };
  return NODE_CONDITIONS.map((type) => wanted[type]).filter((condition) => {
    const { type } = condition;
    const present = node.status?.conditions?.find((each) => each.type === type);
    if (present === undefined) return condition.status === 'True';
    // What was planned stays so until it is over.
    if (type === 'MaintenancePlanned' && planned.length === 0 && maintenances.length > 0) return false;
    if (type === 'DrainInProgress' && present.status === 'True' && isTrue(node, KUBELET_SHUTS_DOWN)) return false;
    if (!isOurCondition(present)) return present.status !== 'True' && condition.status === 'True';
    return (
      present.status !== condition.status ||
      present.reason !== condition.reason ||
      // The API server leaves an empty message out.
      (present.message ?? '') !== condition.message
    );
  });
}
