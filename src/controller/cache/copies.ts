import type { EvictionRequest } from '../../api/eviction-request.ts';
import type { KubeObject } from '../../api/meta.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node, Pod, PodDisruptionBudget } from '../../api/pod.ts';
import {
  DISRUPTION_BUDGETS,
  EVICTION_REQUESTS,
  NODE_MAINTENANCES,
  NODES,
  PODS,
  type Resource,
} from '../../kube/resource.ts';
import { transformBudget, transformNode, transformPod, withoutManagers } from '../../kube/cache/transform.ts';
import { createWatchGroup } from '../../kube/watch-group.ts';
import { createObjectCache, type ObjectCache, type Transform, type WatchDependencies } from '../../kube/watch.ts';

/** One live copy of each resource that the controller watches. */
export interface Copies {
  readonly maintenances: ObjectCache<NodeMaintenance>;
  readonly requests: ObjectCache<EvictionRequest>;
  readonly pods: ObjectCache<Pod>;
  readonly nodes: ObjectCache<Node>;
  readonly budgets: ObjectCache<PodDisruptionBudget>;
}

export type CopiedResource = 'Maintenance' | 'Request' | 'Pod' | 'Node' | 'Budget';

/** Creates the copies; `onChange` is called with the key of each object that was added, changed or deleted. */
export function createCopies(
  dependencies: WatchDependencies,
  onChange: (resource: CopiedResource, key: string) => void,
): Copies {
  const group = createWatchGroup(dependencies.clock);
  const copyOf = <T extends KubeObject>(
    resource: Resource,
    name: CopiedResource,
    transform: Transform<T>,
  ): ObjectCache<T> => {
    const onKey = onChange.bind(undefined, name);
    return createObjectCache<T>({ resource }, onKey, { ...dependencies, group }, transform);
  };
  return {
    maintenances: copyOf(NODE_MAINTENANCES, 'Maintenance', withoutManagers),
    requests: copyOf(EVICTION_REQUESTS, 'Request', withoutManagers),
    pods: copyOf(PODS, 'Pod', transformPod),
    nodes: copyOf(NODES, 'Node', transformNode),
    budgets: copyOf(DISRUPTION_BUDGETS, 'Budget', transformBudget),
  };
}

/** The copies, or what there is of each of them, by the names of their resources. */
export function byResource<T>(copies: Readonly<Record<keyof Copies, T>>): Readonly<Record<string, T>> {
  const { maintenances: nodemaintenances, requests: evictionrequests, pods, nodes } = copies;
  return { nodemaintenances, evictionrequests, pods, nodes, poddisruptionbudgets: copies.budgets };
}
