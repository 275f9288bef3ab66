import type { EvictionRequest } from '../../api/eviction-request.ts';
import { targetKeyOf } from '../../decide/eviction/request.ts';
import { requestNodeOf } from '../../decide/node-label.ts';
import type { ObjectCache } from '../../kube/watch.ts';
import { createGrouping } from '../../kube/cache/grouping.ts';

/** What a request was about before a change and is about after it. */
export interface RequestChange {
  /** The pods, NAMESPACE/NAME. */
  readonly pods: readonly string[];
  /** The nodes by the label. */
  readonly nodes: readonly string[];
}

/** The controller's copies of EvictionRequests, found by the pod and by the node of the target. */
export interface RequestIndex extends ObjectCache<EvictionRequest> {
  /** The keys of those of a pod, by its NAMESPACE/NAME. */
  ofPod(podKey: string): Iterable<string>;
  /** The keys of those that have the label of the node. */
  onNode(nodeName: string): Iterable<string>;
  /** Whether no other request was noted before it among those of its node: many nodes are begun before one is gone on with. */
  isFirstOfNode(key: string): boolean;
  /** The node that the label of the request names, if there is such a request. */
  nodesOf(key: string): readonly string[];
  /** Notes that the request of the key came, changed or went. */
  note(key: string): RequestChange;
}

/** Indexes the cached requests; each change has to be noted. */
export function createRequestIndex(cache: ObjectCache<EvictionRequest>): RequestIndex {
  const byPod = createGrouping();
  const byNode = createGrouping();
  return {
    ...cache,
    ofPod: (podKey) => byPod.under(podKey),
    onNode: (nodeName) => byNode.under(nodeName),
    isFirstOfNode: (key) =>
      byNode.valuesOf(key).every((node) => {
        const [first] = byNode.under(node);
        return first === key;
      }),
    nodesOf: (key) => byNode.valuesOf(key),
    note: (key) => {
      const request = cache.get(key);
      const [pods, nodes] = [byPod.valuesOf(key), byNode.valuesOf(key)];
      byPod.set(key, request === undefined ? [] : [targetKeyOf(request)]);
      byNode.set(key, request === undefined ? [] : [requestNodeOf(request.metadata)]);
      return {
        pods: [...new Set([...pods, ...byPod.valuesOf(key)])],
        nodes: [...new Set([...nodes, ...byNode.valuesOf(key)])],
      };
    },
  };
}
