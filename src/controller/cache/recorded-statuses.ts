import type { NodeMaintenance, NodeStatus } from '../../api/node-maintenance.ts';
import { nodeStatusesOf } from '../../decide/maintenance/recorded-node.ts';
import { createGrouping } from '../../kube/copy/grouping.ts';

/** What the statuses of maintenances have of each node, so that nobody looks through the nodes of a large one. */
export interface RecordedStatuses {
  /** Notes the maintenance of the name; undefined for one that is gone. */
  note(name: string, maintenance: NodeMaintenance | undefined): void;
  /** The names of the maintenances whose status has the node. */
  by(node: string): ReadonlySet<string>;
  /** The maintenance with what its status has of this node. */
  asSeenFrom(node: string, maintenance: NodeMaintenance): NodeMaintenance;
}

/** A shorter status is left as it is. */
const FEW = 4;

export function createRecordedStatuses(): RecordedStatuses {
  const nodes = createGrouping();
  const known = new Map<string, ReadonlyMap<string, NodeStatus>>();
  return {
    by: (node) => nodes.under(node),
    note: (name, maintenance) => {
      const statuses = nodeStatusesOf(maintenance?.status);
      nodes.set(
        name,
        statuses.map(({ nodeRef }) => nodeRef.name),
      );
      if (statuses.length <= FEW) {
        known.delete(name);
        return;
      }
      known.set(name, new Map(statuses.map((each) => [each.nodeRef.name, each])));
    },
    asSeenFrom: (node, maintenance) => {
      const recorded = known.get(maintenance.metadata.name);
      if (recorded === undefined) return maintenance;
      const own = recorded.get(node);
      const nodeStatuses = own === undefined ? [] : [own];
      const { nodeGroups: _, ...status } = maintenance.status ?? {};
      return { ...maintenance, status: { ...status, nodeStatuses } };
    },
  };
}
