import type { NodeMaintenance } from '../../../api/node-maintenance.ts';
import type { Node } from '../../../api/pod.ts';
import { syncCordon } from '../../../kube/maintenance/cordon.ts';
import { NODES, objectPath, sendForObject } from '../../../kube/resource.ts';
import type { ClusterDependencies } from '../../cluster/dependencies.ts';

/** Keeps this node cordoned while its agent drains it. */
interface SelfCordon {
  /**
   * Cordons the node for these maintenances, unless it was read as cordoned in the last 15 s; `mayWrite` is called right
   * before a write. Returns whether the node is cordoned. Throws API_UNREACHABLE and API_REFUSED: no pod may leave then.
   */
  keep(
    maintenances: readonly NodeMaintenance[],
    mayWrite: () => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<boolean>;
  /** The node as `keep` read it last; undefined before that, and where the API server has no such node. */
  node(): Node | undefined;
  forget(): void;
}

/** After this time the node is read again, in case its cordon was taken away. */
const EVERY_MS = 15_000;

export function createSelfCordon({ client, clock, log, nodeName }: ClusterDependencies): SelfCordon {
  /** When the node was read as cordoned, on the monotonic clock; undefined before that. */
  let cordonedAt: number | undefined;
  let node: Node | undefined;
  return {
    keep: async (maintenances, mayWrite, signal) => {
      if (cordonedAt !== undefined && clock.monotonic() - cordonedAt < EVERY_MS) return true;
      const wantedBy = maintenances.map(({ metadata }) => metadata.name);
      const read = { method: 'GET', path: objectPath(NODES, { name: nodeName }) } as const;
      node = await sendForObject<Node>(client, read, [404], signal);
      const outcome = node === undefined ? 'unchanged' : await syncCordon(client, { node, wantedBy, mayWrite }, signal);
      if (outcome === 'not-allowed' || outcome === 'conflict') return false;
      if (outcome === 'changed') log.info({ maintenances: wantedBy }, 'cordoned own node');
      cordonedAt = clock.monotonic();
      return true;
    },
    node: () => node,
    forget: () => {
      cordonedAt = undefined;
      node = undefined;
    },
  };
}
