import {
  DRAINED,
  type DrainPlanEntry,
  type NodeMaintenance,
  type NodeMaintenanceStatus,
  type NodeStatus,
} from '../../api/node-maintenance.ts';
import { isWithin, mostPowerful } from './drain-targets.ts';

/** A node as the cluster has it now. */
export interface NodeIdentity {
  readonly name: string;
  /** Absent where it is not known; then what was recorded under the name is believed. */
  readonly uid?: string;
}

/** The identity in the metadata of a Node, or in a status. */
export function identityOf({ name, uid }: NodeIdentity): NodeIdentity {
  return { name, ...(uid === undefined ? {} : { uid }) };
}

/** The statuses of all nodes; those of nodes in groups have targets and a position, and nothing else. */
export function nodeStatusesOf(status: NodeMaintenanceStatus | undefined): readonly NodeStatus[] {
  const { nodeStatuses = [], nodeGroups = [] } = status ?? {};
  if (nodeGroups.length === 0) return nodeStatuses;
  const grouped = nodeGroups.flatMap(({ nodes, ...group }) => nodes.map((nodeRef) => ({ nodeRef, ...group })));
  return [...nodeStatuses, ...grouped];
}

/** As `nodeStatusesOf`, for the node of that name alone; undefined where the status does not have it. */
export function nodeStatusOf(status: NodeMaintenanceStatus | undefined, name: string): NodeStatus | undefined {
  const known = status?.nodeStatuses?.find(({ nodeRef }) => nodeRef.name === name);
  if (known !== undefined) return known;
  for (const { nodes, ...group } of status?.nodeGroups ?? []) {
    const nodeRef = nodes.find((node) => node.name === name);
    if (nodeRef !== undefined) return { nodeRef, ...group };
  }
  return undefined;
}

/** Whether all pods of this node are gone: what the maintenance says of the node itself counts, not a condition alone. */
export function hasDrained({ status }: NodeMaintenance, nodeName: string): boolean {
  const isDrained = status?.conditions?.some((each) => each.type === DRAINED && each.status === 'True') === true;
  const node = nodeStatusOf(status, nodeName);
  return isDrained && node?.podsPendingEvacuation === 0 && node.podsEvacuating === 0;
}

/** How many pods are left on this node; undefined where that is not known, or while volumes are waited for. */
export function podsLeft({ status }: NodeMaintenance, nodeName: string): number | undefined {
  const { podsPendingEvacuation, podsEvacuating, volumesLeft = [] } = nodeStatusOf(status, nodeName) ?? {};
  if (podsPendingEvacuation === undefined || podsEvacuating === undefined) return undefined;
  return volumesLeft.some(({ givenUp }) => givenUp !== true) ? undefined : podsPendingEvacuation + podsEvacuating;
}

/** What was recorded under the name of a node; undefined where it was recorded of an earlier Node object of that name. */
function ofSameNode(known: NodeStatus | undefined, uid: string | undefined): NodeStatus | undefined {
  const isOfAnother = uid !== undefined && known?.nodeRef.uid !== undefined && known.nodeRef.uid !== uid;
  return isOfAnother ? undefined : known;
}

/**
 * Finds what the status has recorded of a node; undefined where it has nothing, and where it has something of an earlier
 * Node object of the same name: a node that registers again goes through the plan from its beginning.
 */
export function recordedNodes(
  status: NodeMaintenanceStatus | undefined,
): (node: NodeIdentity) => NodeStatus | undefined {
  const byName = new Map(nodeStatusesOf(status).map((each) => [each.nodeRef.name, each]));
  return ({ name, uid }) => ofSameNode(byName.get(name), uid);
}

/** As `recordedNodes`, for one node alone. */
export function recordedNode(
  status: NodeMaintenanceStatus | undefined,
  { name, uid }: NodeIdentity,
): NodeStatus | undefined {
  return ofSameNode(nodeStatusOf(status, name), uid);
}

/** Whether an older version wrote the status, with one position for all nodes. */
function isOfOlderVersion(status: NodeMaintenanceStatus | undefined): boolean {
  const { nodeStatuses = [], nodeGroups = [] } = status ?? {};
  const isByNode = [...nodeStatuses, ...nodeGroups].some(({ drainPlanPosition }) => drainPlanPosition !== undefined);
  return !isByNode && (status?.drainPlanPosition ?? 0) > 0;
}

/**
 * Finds what the status has recorded of a node where the drain has begun to take its pods; undefined for one that is
 * throttled, though it has the targets that other drains have reached.
 */
export function begunNodes(status: NodeMaintenanceStatus | undefined): (node: NodeIdentity) => NodeStatus | undefined {
  const recordedOf = recordedNodes(status);
  const isOlder = isOfOlderVersion(status);
  return (node) => {
    const known = recordedOf(node);
    return isOlder || known?.drainPlanPosition !== undefined ? known : undefined;
  };
}

/** As `begunNodes`, for one node alone. */
export function begunNode(status: NodeMaintenanceStatus | undefined, node: NodeIdentity): NodeStatus | undefined {
  const known = recordedNode(status, node);
  return known?.drainPlanPosition !== undefined || isOfOlderVersion(status) ? known : undefined;
}

/**
 * The statuses of the nodes of a maintenance of one node alone, when its drain has gone on elsewhere and has reached these targets:
 * nothing that is recorded is taken back. Undefined where they are recorded already.
 */
export function handedOverStatuses(
  status: NodeMaintenanceStatus | undefined,
  node: NodeIdentity,
  targets: readonly DrainPlanEntry[],
): readonly NodeStatus[] | undefined {
  const known = recordedNode(status, node);
  if (known !== undefined && isWithin(targets, known.drainTargets ?? [])) return undefined;
  // Which entry of its plan the drain has come to follows from the targets.
  const { drainPlanPosition: _, ...kept } = known ?? { nodeRef: identityOf(node) };
  return [{ ...kept, drainTargets: mostPowerful([known?.drainTargets ?? [], targets]) }];
}
