import type { Clock } from '../../host/clock.ts';
import type { Copies } from './copies.ts';
import { createMaintenanceIndex, type MaintenanceIndex } from './maintenances.ts';
import { createNodeIndex, type NodeIndex } from './nodes.ts';
import { createPodIndex, type PodIndex } from './pods.ts';
import { createRequestIndex, type RequestIndex } from './requests.ts';

/** The copies with their indexes. Each term has its own indexes: it notes all objects at its beginning, and then each change. */
export interface Indexes {
  readonly maintenances: MaintenanceIndex;
  readonly requests: RequestIndex;
  readonly pods: PodIndex;
  readonly nodes: NodeIndex;
}

export function createIndexes(copies: Pick<Copies, keyof Indexes>, clock: Pick<Clock, 'now'>): Indexes {
  const nodes = createNodeIndex(copies.nodes);
  return {
    maintenances: createMaintenanceIndex(copies.maintenances, nodes),
    requests: createRequestIndex(copies.requests),
    pods: createPodIndex(copies.pods, clock),
    nodes,
  };
}
