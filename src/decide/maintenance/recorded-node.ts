import {
  DRAINED,
  type DrainPlanEntry,
  type NodeGroup,
  type NodeMaintenance,
  type NodeMaintenanceStatus,
  type NodeStatus,
} from '../../api/node-maintenance.ts';
import { isWithin, mostPowerful } from './drain-targets.ts';
import { rfc3339, timeOf } from '../time.ts';

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

/** A node of a group as a status of its own. */
function ofGroup(group: NodeGroup, { drainStartTime, ...nodeRef }: NodeGroup['nodes'][number]): NodeStatus {
  const { nodes: _, ...shared } = group;
  return { nodeRef, ...shared, ...(drainStartTime === undefined ? {} : { drainStartTime }) };
}

/** The statuses of all nodes; those of nodes in groups have targets, a position and their begin, and nothing else. */
export function nodeStatusesOf(status: NodeMaintenanceStatus | undefined): readonly NodeStatus[] {
  const { nodeStatuses = [], nodeGroups = [] } = status ?? {};
  if (nodeGroups.length === 0) return nodeStatuses;
  return [...nodeStatuses, ...nodeGroups.flatMap((group) => group.nodes.map((node) => ofGroup(group, node)))];
}

/** As `nodeStatusesOf`, for the node of that name alone; undefined where the status does not have it. */
export function nodeStatusOf(status: NodeMaintenanceStatus | undefined, name: string): NodeStatus | undefined {
  const known = status?.nodeStatuses?.find(({ nodeRef }) => nodeRef.name === name);
  if (known !== undefined) return known;
  for (const group of status?.nodeGroups ?? []) {
    const node = group.nodes.find((each) => each.name === name);
    if (node !== undefined) return ofGroup(group, node);
  }
  return undefined;
}

/** Whether all pods of this node are gone: what the maintenance says of the node itself counts, not a condition alone. */
export function hasDrained({ status }: NodeMaintenance, nodeName: string): boolean {
  const isDrained = status?.conditions?.some((each) => each.type === DRAINED && each.status === 'True') === true;
  const node = nodeStatusOf(status, nodeName);
  return isDrained && node?.podsPendingEvacuation === 0 && node.podsEvacuating === 0;
}

/** Whether the drain waits for volumes of this node. */
export function awaitsVolumes({ status }: NodeMaintenance, nodeName: string): boolean {
  const { volumesInUse } = nodeStatusOf(status, nodeName) ?? {};
  return volumesInUse !== undefined && volumesInUse.givenUp !== true;
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

/**
 * Only one whose drain has begun: a node that waits may have the targets that other drains have reached. Version 0.2.0 writes
 * no begin but the position, which neither version writes for a node that waits; an API server with its CRD drops the begin.
 */
function ifBegun(known: NodeStatus | undefined): NodeStatus | undefined {
  return known?.drainStartTime === undefined && known?.drainPlanPosition === undefined ? undefined : known;
}

/** Finds what the status has recorded of a node whose drain has begun; undefined for one that waits. */
export function begunNodes(status: NodeMaintenanceStatus | undefined): (node: NodeIdentity) => NodeStatus | undefined {
  const recordedOf = recordedNodes(status);
  return (node) => ifBegun(recordedOf(node));
}

/** As `begunNodes`, for one node alone. */
export function begunNode(status: NodeMaintenanceStatus | undefined, node: NodeIdentity): NodeStatus | undefined {
  return ifBegun(recordedNode(status, node));
}

/** Whether the drain of any of its nodes has begun. */
export function hasBegun(status: NodeMaintenanceStatus | undefined): boolean {
  return nodeStatusesOf(status).some((node) => ifBegun(node) !== undefined);
}

/** When the drain of the node began, in milliseconds since the epoch; undefined where it has not, or where that is not known. */
export function drainBegan({ metadata, status }: NodeMaintenance, node: NodeIdentity): number | undefined {
  const began = timeOf(begunNode(status, node)?.drainStartTime);
  // By the clock of who wrote it, which may be behind the API server's.
  return began === undefined ? undefined : Math.max(began, timeOf(metadata.creationTimestamp) ?? began);
}

/**
 * The statuses of the nodes of a maintenance of one node alone, when its drain has gone on elsewhere and has reached these targets:
 * it has begun, and nothing that is recorded is taken back. Undefined where that is recorded already.
 */
export function handedOverStatuses(
  status: NodeMaintenanceStatus | undefined,
  node: NodeIdentity,
  { targets, now }: { readonly targets: readonly DrainPlanEntry[]; readonly now: number },
): readonly NodeStatus[] | undefined {
  const known = recordedNode(status, node);
  if (ifBegun(known) !== undefined && isWithin(targets, known?.drainTargets ?? [])) return undefined;
  // Which entry of its plan the drain has come to follows from the targets.
  const { drainPlanPosition: _, ...kept } = known ?? { nodeRef: identityOf(node) };
  const drainTargets = mostPowerful([known?.drainTargets ?? [], targets]);
  return [{ ...kept, drainTargets, drainStartTime: known?.drainStartTime ?? rfc3339(now) }];
}
