import type { EvictionRequest } from '../../../src/api/eviction-request.ts';
import type { KubeObject } from '../../../src/api/meta.ts';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Node, Pod } from '../../../src/api/pod.ts';
import type { Change, Kind } from '../timeline.ts';
import type { Moment } from './coverage.ts';

/** The objects of a history before and after one change. */
export interface Scene {
  readonly change: Change;
  readonly before: KubeObject | undefined;
  readonly past: Moment;
  readonly present: Moment;
  /** The request of a pod in the present. */
  requestOf(uid: string): EvictionRequest | undefined;
}

/** Goes through the changes in the order in which the API server made them. */
export function replay(changes: readonly Change[], visit: (scene: Scene) => void): void {
  const kinds: Record<Kind, Map<string, KubeObject>> = {
    Node: new Map(),
    Pod: new Map(),
    NodeMaintenance: new Map(),
    EvictionRequest: new Map(),
    PodDisruptionBudget: new Map(),
  };
  const moment = (): Moment => ({
    nodes: [...kinds.Node.values()] as Node[],
    pods: [...kinds.Pod.values()] as Pod[],
    maintenances: [...kinds.NodeMaintenance.values()] as NodeMaintenance[],
  });
  const requestOf = (uid: string): EvictionRequest | undefined =>
    ([...kinds.EvictionRequest.values()] as EvictionRequest[]).find(({ metadata }) => metadata.name === uid);
  let past = moment();
  for (const change of changes.toSorted((a, b) => a.revision - b.revision)) {
    const objects = kinds[change.kind];
    const before = objects.get(change.key);
    if (change.deleted) objects.delete(change.key);
    else objects.set(change.key, change.object);
    const present = moment();
    visit({ change, before, past, present, requestOf });
    past = present;
  }
}
