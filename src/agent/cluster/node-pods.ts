import type { Pod } from '../../api/pod.ts';
import { onNode, PODS } from '../../kube/resource.ts';
import type { ClusterDependencies } from './dependencies.ts';
import { createOnDemandWatch, type OnDemandWatch } from './on-demand-watch.ts';

/** The pods of this node, watched only while a part of the agent needs them. */
export type NodePods = OnDemandWatch<Pod>;

/** Creates the watch on the pods of this node, which ends with `lifetime`. */
export function createNodePods(dependencies: ClusterDependencies, lifetime: AbortSignal): NodePods {
  const scope = { resource: PODS, fieldSelector: onNode(dependencies.nodeName) };
  return createOnDemandWatch<Pod>({ scope, failure: "watch on the node's pods failed" }, dependencies, () => lifetime);
}
