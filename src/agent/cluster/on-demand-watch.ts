import type { ClusterDependencies } from './dependencies.ts';
import type { KubeObject } from '../../api/meta.ts';
import type { Pod } from '../../api/pod.ts';
import { describeError } from '../../errors.ts';
import { onNode, PODS } from '../../kube/resource.ts';
import { createObjectCache, type ObjectCache, type Transform, type WatchScope } from '../../kube/watch.ts';

/** The pods of this node, watched only while a part of the agent needs them. */
export type NodePods = OnDemandWatch<Pod>;

/** Creates the watch on the pods of this node, which ends with `lifetime`. */
export function createNodePods(dependencies: ClusterDependencies, lifetime: AbortSignal): NodePods {
  const scope = { resource: PODS, fieldSelector: onNode(dependencies.nodeName) };
  return createOnDemandWatch<Pod>({ scope, failure: "watch on the node's pods failed" }, dependencies, () => lifetime);
}

/** A watch that runs only while a part of the agent needs it: an idle agent has none. */
interface OnDemandWatch<T extends KubeObject> {
  /** Begins the watch where there is none; returns its copy. */
  start(): ObjectCache<T>;
  /** Ends the watch. */
  stop(): void;
  /** The copy of the watch that runs; undefined where none does. */
  current(): ObjectCache<T> | undefined;
}

/** What is watched, and the log message of a watch that fails. */
interface OnDemandScope<T extends KubeObject> {
  readonly scope: WatchScope;
  readonly failure: string;
  /** What is kept of an object; all of it unless given. */
  readonly read?: Transform<T>;
}

/** Creates the watch without starting it. It ends with the signal that `lifetime` returns when it starts. */
export function createOnDemandWatch<T extends KubeObject>(
  { scope, failure, read }: OnDemandScope<T>,
  dependencies: ClusterDependencies,
  lifetime: () => AbortSignal,
): OnDemandWatch<T> {
  const { log, onChange } = dependencies;
  let running: { readonly cache: ObjectCache<T>; readonly end: AbortController } | undefined;
  return {
    start: () => {
      if (running !== undefined) return running.cache;
      const end = new AbortController();
      const cache = createObjectCache<T>(scope, onChange, dependencies, read);
      cache.run(AbortSignal.any([lifetime(), end.signal])).catch((error: unknown) => {
        log.error({ reason: describeError(error) }, failure);
      });
      running = { cache, end };
      return cache;
    },
    stop: () => {
      running?.end.abort();
      running = undefined;
    },
    current: () => running?.cache,
  };
}

/**
 * The copy of the watch, which is begun where there is none; undefined while the copy does not follow the server. One that has
 * lost the server is made anew, because its watch could bring nothing for a minute.
 */
export function followed<T extends KubeObject>(watch: OnDemandWatch<T>): ObjectCache<T> | undefined {
  const copy = watch.start();
  if (copy.current()) return copy;
  if (copy.synced()) {
    watch.stop();
    watch.start();
  }
  return undefined;
}
