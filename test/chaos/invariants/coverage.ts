import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Node, Pod } from '../../../src/api/pod.ts';
import { covers, drainsOfNode, selectsNode, stageOf } from '../../../src/decide/maintenance/maintenance.ts';
import { drainPodOf, targetNodeOf } from '../../../src/decide/pod.ts';

/** The objects of a history at one moment. */
export interface Moment {
  readonly nodes: readonly Node[];
  readonly pods: readonly Pod[];
  readonly maintenances: readonly NodeMaintenance[];
}

/** Whether the maintenance has not begun and may still begin: its nodes are told that it is planned. */
export function isToCome(maintenance: NodeMaintenance): boolean {
  return stageOf(maintenance) === 'Idle' && maintenance.metadata.deletionTimestamp === undefined;
}

/** Whether a maintenance in the Drain stage selects the pod's node and targets the pod there. */
export function isCovered({ nodes, maintenances }: Moment, pod: Pod): boolean {
  const name = targetNodeOf(pod);
  const node = nodes.find(({ metadata }) => metadata.name === name);
  if (node === undefined) return false;
  const selecting = maintenances.filter((maintenance) => selectsNode(maintenance, node));
  return covers(drainsOfNode(selecting, node.metadata.name), drainPodOf(pod));
}

/** Whether the status of a maintenance in the Drain stage has targets for the pod: agents go by it, not by the selector. */
export function isTargeted({ maintenances }: Moment, pod: Pod): boolean {
  return covers(drainsOfNode(maintenances, targetNodeOf(pod) ?? ''), drainPodOf(pod));
}
