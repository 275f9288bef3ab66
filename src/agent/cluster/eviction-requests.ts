import type { EvictionRequest } from '../../api/eviction-request.ts';
import { KUBELET_INTERCEPTOR, NODE_LABEL } from '../../api/names.ts';
import { isFinished } from '../../decide/eviction/request.ts';
import { nodeLabel } from '../../decide/node-label.ts';
import { describeError } from '../../errors.ts';
import { type InterceptorStep, reportProgress } from '../../kube/eviction/interceptor.ts';
import { EVICTION_REQUESTS } from '../../kube/resource.ts';
import { createObjectCache, type ObjectCache } from '../../kube/watch.ts';
import type { ClusterDependencies } from './dependencies.ts';

/** The EvictionRequests of pods on this node, watched only while a drain needs them. */
export interface NodeEvictionRequests {
  /** Those that are not over; none while they are not watched. */
  list(): readonly EvictionRequest[];
  /** Whether they are watched and the first list has arrived. */
  synced(): boolean;
  /** Starts or stops the watch. */
  watch(wanted: boolean): void;
  /** Reports as the interceptor kubelet.k8s.io (KEP-4212, "kubelet: Static Pods"). */
  report(request: EvictionRequest, step: InterceptorStep, signal: AbortSignal): Promise<void>;
}

interface RequestWatch {
  readonly cache: ObjectCache<EvictionRequest>;
  readonly stop: AbortController;
}

/** Creates them without a watch. No watch begins before `lifetime` returns a signal that is not aborted; all end with it. */
export function createEvictionRequests(
  dependencies: ClusterDependencies,
  lifetime: () => AbortSignal,
): NodeEvictionRequests {
  const { client, clock, log, nodeName, onChange } = dependencies;
  let watched: RequestWatch | undefined;

  const open = (): RequestWatch => {
    const stop = new AbortController();
    const scope = { resource: EVICTION_REQUESTS, labelSelector: `${NODE_LABEL}=${nodeLabel(nodeName)}` };
    const cache = createObjectCache<EvictionRequest>(scope, onChange, dependencies);
    cache.run(AbortSignal.any([lifetime(), stop.signal])).catch((error: unknown) => {
      log.error({ reason: describeError(error) }, 'watch on eviction requests failed');
    });
    return { cache, stop };
  };

  return {
    list: () => (watched?.cache.list() ?? []).filter((request) => !isFinished(request)),
    synced: () => watched?.cache.synced() === true,
    watch: (wanted) => {
      if (wanted === (watched !== undefined) || lifetime().aborted) return;
      watched?.stop.abort();
      watched = wanted ? open() : undefined;
    },
    report: async (request, step, signal) => {
      await reportProgress(client, request, { name: KUBELET_INTERCEPTOR, turn: step, now: clock.now() }, signal);
    },
  };
}
