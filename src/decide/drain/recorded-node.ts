import type { NodeMaintenanceStatus, NodeStatus } from '../../api/node-maintenance.ts';

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

/**
 * Finds what the status has recorded of a node; undefined where it has nothing, and where it has something of an earlier
 * Node object of the same name: a node that registers again goes through the plan from its beginning.
 */
export function recordedNodes(
  status: NodeMaintenanceStatus | undefined,
): (node: NodeIdentity) => NodeStatus | undefined {
  const byName = new Map(status?.nodeStatuses?.map((each) => [each.nodeRef.name, each]));
  return ({ name, uid }) => {
    const known = byName.get(name);
    const isOfAnother = uid !== undefined && known?.nodeRef.uid !== undefined && known.nodeRef.uid !== uid;
    return isOfAnother ? undefined : known;
  };
}

/**
 * Finds what the status has recorded of a node where the drain has begun to take its pods; undefined for one that is
 * throttled, though it has the targets that other drains have reached.
 */
export function begunNodes(status: NodeMaintenanceStatus | undefined): (node: NodeIdentity) => NodeStatus | undefined {
  const recordedOf = recordedNodes(status);
  const isByNode = status?.nodeStatuses?.some(({ drainPlanPosition }) => drainPlanPosition !== undefined) === true;
  // An older version wrote one position for all nodes.
  const isOlder = !isByNode && (status?.drainPlanPosition ?? 0) > 0;
  return (node) => {
    const known = recordedOf(node);
    return isOlder || known?.drainPlanPosition !== undefined ? known : undefined;
  };
}
