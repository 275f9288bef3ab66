import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import { drainsOfNode, type NodeDrain } from '../../decide/maintenance/maintenance.ts';
import { NODE_MAINTENANCES } from '../../kube/resource.ts';
import { createObjectCache } from '../../kube/watch.ts';
import type { ClusterDependencies } from './dependencies.ts';
import { createMaintenanceTransform, createSignificantChanges } from './maintenance-copies.ts';

/** The NodeMaintenances as a watch keeps them; of one that does not concern this node only the name is known. */
export interface NodeMaintenances {
  /** Whether the first list has arrived. */
  synced(): boolean;
  /** When the API server answered last, in milliseconds since the epoch; undefined before its first answer. */
  heardAt(): number | undefined;
  get(name: string): NodeMaintenance | undefined;
  list(): readonly NodeMaintenance[];
  /** All drains of this node. */
  drains(): readonly NodeDrain[];
}

/** The copies, and the watch that keeps them current. */
export interface MaintenanceWatch extends NodeMaintenances {
  run(signal: AbortSignal): Promise<void>;
}

/** How often the agent checks whether the first list has arrived. */
const SYNC_MS = 250;

/** Creates the watch; `onCopy` is called with the name of every copy that changed, before the agent is woken for it. */
export function createMaintenanceWatch(
  dependencies: ClusterDependencies,
  onCopy: (name: string) => void,
): MaintenanceWatch {
  const { clock, nodeName, onChange } = dependencies;
  const maintenances = createObjectCache<NodeMaintenance>(
    { resource: NODE_MAINTENANCES },
    (name) => {
      onCopy(name);
      if (significant.changed(name)) onChange();
    },
    dependencies,
    createMaintenanceTransform(nodeName),
  );
  const significant = createSignificantChanges(nodeName, (name) => maintenances.get(name));

  /** An empty list changes nothing that the watch reports, and the agent acts upon it too. */
  const wakeWhenSynced = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted && !maintenances.synced()) await clock.sleep(SYNC_MS, signal).catch(() => undefined);
    if (!signal.aborted) onChange();
  };

  return {
    synced: () => maintenances.synced(),
    heardAt: () => (maintenances.heardAt() === 0 ? undefined : maintenances.heardAt()),
    get: (name) => maintenances.get(name),
    list: () => maintenances.list(),
    drains: () => drainsOfNode(maintenances.list(), nodeName),
    run: async (signal) => {
      await Promise.all([maintenances.run(signal), wakeWhenSynced(signal)]);
    },
  };
}
