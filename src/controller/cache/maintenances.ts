import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node } from '../../api/pod.ts';
import { agentNodeOf, isEndedByReboot } from '../../decide/maintenance/maintenance.ts';
import type { ObjectCache } from '../../kube/watch.ts';

/**
 * The controller's copies of NodeMaintenances. A shutdown whose machine was booted since is complete in them before
 * anybody has written that: where the API server was away for the rest of the shutdown, the first look at it must not
 * take pods away that have just come back.
 */
export interface MaintenanceIndex extends ObjectCache<NodeMaintenance> {
  /** Whether the maintenance is complete only by that, and its stage is still to be written. */
  isEndedByReboot(name: string): boolean;
  /** The maintenance, complete where it is so by that. */
  asItCounts(maintenance: NodeMaintenance): NodeMaintenance;
}

/** Indexes the cached maintenances by node. */
export function createMaintenanceIndex(
  cache: ObjectCache<NodeMaintenance>,
  nodes: ObjectCache<Node>,
): MaintenanceIndex {
  const isOver = (maintenance: NodeMaintenance): boolean => {
    const node = nodes.get(agentNodeOf(maintenance) ?? '');
    return node !== undefined && isEndedByReboot(maintenance, node);
  };
  const asItCounts = (maintenance: NodeMaintenance): NodeMaintenance =>
    isOver(maintenance) ? { ...maintenance, spec: { ...maintenance.spec, stage: 'Complete' } } : maintenance;
  return {
    ...cache,
    asItCounts,
    list: () => cache.list().map(asItCounts),
    get: (key) => {
      const maintenance = cache.get(key);
      return maintenance === undefined ? undefined : asItCounts(maintenance);
    },
    isEndedByReboot: (name) => {
      const maintenance = cache.get(name);
      return maintenance !== undefined && isOver(maintenance);
    },
  };
}
