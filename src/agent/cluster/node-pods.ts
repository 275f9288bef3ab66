import type { Pod } from '../../api/pod.ts';
import { describeError } from '../../errors.ts';
import { onNode, PODS } from '../../kube/resource.ts';
import { createObjectCache, type ObjectCache } from '../../kube/watch.ts';
import type { ClusterDependencies } from './dependencies.ts';

/** A watch on the pods of this node, only while a part of the agent needs it: an idle agent has none. */
export interface NodePods {
  /** Begins the watch where there is none. */
  watch(): ObjectCache<Pod>;
  /** Ends the watch. */
  rest(): void;
}

/** Watches the pods of this node until `lifetime` aborts. */
export function createNodePods(dependencies: ClusterDependencies, lifetime: AbortSignal): NodePods {
  const { log, nodeName, onChange } = dependencies;
  let watched: { readonly cache: ObjectCache<Pod>; readonly stop: AbortController } | undefined;
  return {
    watch: () => {
      if (watched !== undefined) return watched.cache;
      const stop = new AbortController();
      const scope = { resource: PODS, fieldSelector: onNode(nodeName) };
      const cache = createObjectCache<Pod>(scope, onChange, dependencies);
      cache.run(AbortSignal.any([lifetime, stop.signal])).catch((error: unknown) => {
        log.error({ reason: describeError(error) }, "watch on the node's pods failed");
      });
      watched = { cache, stop };
      return cache;
    },
    rest: () => {
      watched?.stop.abort();
      watched = undefined;
    },
  };
}
