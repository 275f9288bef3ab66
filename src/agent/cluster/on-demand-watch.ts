import type { ClusterDependencies } from './dependencies.ts';
import type { EvictionRequest } from '../../api/eviction-request.ts';
import type { KubeObject } from '../../api/meta.ts';
import { KUBELET_INTERCEPTOR, NODE_LABEL } from '../../api/names.ts';
import type { Pod } from '../../api/pod.ts';
import { isFinished } from '../../decide/eviction/request.ts';
import { nodeLabel } from '../../decide/node-label.ts';
import { describeError } from '../../errors.ts';
import { type InterceptorStep, reportProgress } from '../../kube/eviction/interceptor.ts';
import { EVICTION_REQUESTS, onNode, PODS } from '../../kube/resource.ts';
import { createObjectCache, type ObjectCache } from '../../kube/watch.ts';
import type { Log } from '../../telemetry/log.ts';

/** A watch that runs only while a part of the agent needs it: an idle agent has none. */
export interface OnDemandWatch<T extends KubeObject> {
  /** Begins the watch where there is none; returns its copy. */
  start(): ObjectCache<T>;
  /** Ends the watch. */
  stop(): void;
  /** The copy of the watch that runs; undefined where none does. */
  current(): ObjectCache<T> | undefined;
}

/** Creates the watch without starting it; `open` makes its copy. It ends with `lifetime`. */
export function createOnDemandWatch<T extends KubeObject>(
  open: () => ObjectCache<T>,
  lifetime: AbortSignal,
  log: Pick<Log, 'error'>,
): OnDemandWatch<T> {
  let running: { readonly cache: ObjectCache<T>; readonly end: AbortController } | undefined;
  return {
    start: () => {
      if (running !== undefined) return running.cache;
      const end = new AbortController();
      const cache = open();
      cache.run(AbortSignal.any([lifetime, end.signal])).catch((error: unknown) => {
        log.error({ reason: describeError(error) }, 'a watch has failed');
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

/** The EvictionRequests of pods on this node, watched only while a drain needs them. */
export class NodeEvictionRequests {
  readonly #dependencies: ClusterDependencies;
  readonly #watched;

  /** There is no watch at first; each ends with `lifetime`. */
  constructor(dependencies: ClusterDependencies, lifetime: AbortSignal) {
    this.#dependencies = dependencies;
    const { log, nodeName, onChange } = dependencies;
    const scope = { resource: EVICTION_REQUESTS, labelSelector: `${NODE_LABEL}=${nodeLabel(nodeName)}` };
    const open = (): ObjectCache<EvictionRequest> => createObjectCache(scope, onChange, dependencies);
    this.#watched = createOnDemandWatch(open, lifetime, log);
  }

  /** Those that are not over, or that are deleted and kept by finalizers; none while they are not watched. */
  list(): readonly EvictionRequest[] {
    const all = this.#watched.current()?.list() ?? [];
    return all.filter((request) => !isFinished(request) || request.metadata.deletionTimestamp !== undefined);
  }

  /** Whether they are watched and the first list has arrived. */
  synced(): boolean {
    return this.#watched.current()?.synced() === true;
  }

  /** Starts or stops the watch. */
  watch(wanted: boolean): void {
    if (wanted) this.#watched.start();
    else this.#watched.stop();
  }

  /** Reports as the interceptor kubelet.k8s.io (KEP-4212, "kubelet: Static Pods"). */
  async report(request: EvictionRequest, step: InterceptorStep, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#dependencies;
    await reportProgress(client, request, { name: KUBELET_INTERCEPTOR, step, now: clock.now() }, signal);
  }
}

/** The pods of this node, watched only while a part of the agent needs them. */
export type NodePods = OnDemandWatch<Pod>;

/** Creates the watch on the pods of this node, which ends with `lifetime`. */
export function createNodePods(dependencies: ClusterDependencies, lifetime: AbortSignal): NodePods {
  const { log, nodeName, onChange } = dependencies;
  const scope = { resource: PODS, fieldSelector: onNode(nodeName) };
  return createOnDemandWatch(() => createObjectCache<Pod>(scope, onChange, dependencies), lifetime, log);
}
