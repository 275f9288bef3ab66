import type { NodeMaintenance } from '../../../api/node-maintenance.ts';
import { syncCordon } from '../../../kube/maintenance/cordon.ts';
import type { ClusterDependencies } from '../../cluster/dependencies.ts';

/** Keeps this node cordoned while its agent drains it. */
export interface SelfCordon {
  /**
   * Cordons the node for these maintenances where that was not seen just now; `mayWrite` is asked right before a write.
   * Returns whether the node is cordoned. Throws API_UNREACHABLE and API_REFUSED: no pod may leave then.
   */
  keep(
    maintenances: readonly NodeMaintenance[],
    mayWrite: () => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<boolean>;
  forget(): void;
}

/** How often the cordon of the node is read, in case it is taken away. */
const EVERY_MS = 15_000;

export function createSelfCordon({ client, clock, log, nodeName }: ClusterDependencies): SelfCordon {
  /** When the node was seen cordoned, on the monotonic clock; undefined before that. */
  let cordonedAt: number | undefined;
  return {
    keep: async (maintenances, mayWrite, signal) => {
      if (cordonedAt !== undefined && clock.monotonic() - cordonedAt < EVERY_MS) return true;
      const wantedBy = maintenances.map(({ metadata }) => metadata.name);
      const outcome = await syncCordon(client, { node: nodeName, wantedBy, mayWrite }, signal);
      if (outcome === 'not-allowed') return false;
      if (outcome === 'changed') log.info({ maintenances: wantedBy }, 'cordoned own node');
      cordonedAt = clock.monotonic();
      return true;
    },
    forget: () => {
      cordonedAt = undefined;
    },
  };
}
