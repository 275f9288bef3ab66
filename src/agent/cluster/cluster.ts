import { removeFailedPods } from '../../kube/eviction/failed-pods.ts';
import type { ClusterDependencies } from './dependencies.ts';
import { createEvictionRequests, type NodeEvictionRequests } from './eviction-requests.ts';
import { trackCreatedMaintenances } from './created-uids.ts';
import { createMaintenanceWatch, type LeaseReader, type NodeMaintenances } from './maintenance-watch.ts';
import { createOwnMaintenances, type OwnMaintenances } from './own-maintenances.ts';

/** The cluster as one node's agent sees it. */
export interface Cluster {
  readonly maintenances: NodeMaintenances;
  readonly own: OwnMaintenances;
  readonly requests: NodeEvictionRequests;
  /** Deletes the pods of this node that a shutdown left behind as Failed; returns their names. */
  removeFailedPods(signal: AbortSignal): Promise<readonly string[]>;
  /** Watches the NodeMaintenances until `signal` is aborted, with which every watch ends. */
  run(signal: AbortSignal): Promise<void>;
}

/**
 * Creates the view; nothing is asked of the API server before `run`. `endsWithBoot` is the kernel's boot id, where the
 * node's drains end with the boot.
 */
export function createCluster(
  dependencies: ClusterDependencies,
  lease: LeaseReader,
  endsWithBoot: string | undefined,
): Cluster {
  const { client, nodeName } = dependencies;
  let lifetime: AbortSignal = AbortSignal.abort();
  const maintenances = createMaintenanceWatch(dependencies, lease, (name) => {
    made.changed(name);
  });
  const made = trackCreatedMaintenances(nodeName, (name) => maintenances.get(name));
  return {
    maintenances,
    own: createOwnMaintenances(dependencies, { maintenances, made, endsWithBoot }),
    requests: createEvictionRequests(dependencies, () => lifetime),
    removeFailedPods: (signal) => removeFailedPods(client, nodeName, signal),
    run: async (signal) => {
      lifetime = signal;
      await maintenances.run(signal);
    },
  };
}
