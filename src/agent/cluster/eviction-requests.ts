import type { EvictionRequest } from '../../api/eviction-request.ts';
import { KUBELET_INTERCEPTOR, NODE_LABEL } from '../../api/names.ts';
import { isFinished } from '../../decide/eviction/request.ts';
import { nodeLabel } from '../../decide/node-label.ts';
import { type InterceptorStep, reportProgress } from '../../kube/eviction/interceptor.ts';
import { EVICTION_REQUESTS } from '../../kube/resource.ts';
import type { ClusterDependencies } from './dependencies.ts';
import { createOnDemandWatch } from './on-demand-watch.ts';

/** The EvictionRequests of pods on this node, watched only while a drain needs them. */
export interface NodeEvictionRequests {
  /** Those that are not over, or that are deleted and kept by finalizers; none while they are not watched. */
  list(): readonly EvictionRequest[];
  /** Whether they are watched and the first list has arrived. */
  synced(): boolean;
  /** Starts or stops the watch. */
  watch(wanted: boolean): void;
  /** Reports as the interceptor kubelet.k8s.io (KEP-4212, "kubelet: Static Pods"). */
  report(request: EvictionRequest, step: InterceptorStep, signal: AbortSignal): Promise<void>;
}

/** Creates them without a watch. No watch begins before `lifetime` returns a signal that is not aborted; all end with it. */
export function createEvictionRequests(
  dependencies: ClusterDependencies,
  lifetime: () => AbortSignal,
): NodeEvictionRequests {
  const { client, clock, nodeName } = dependencies;
  const scope = { resource: EVICTION_REQUESTS, labelSelector: `${NODE_LABEL}=${nodeLabel(nodeName)}` };
  const watched = createOnDemandWatch<EvictionRequest>(
    { scope, failure: 'watch on eviction requests failed' },
    dependencies,
    lifetime,
  );
  return {
    list: () => {
      const all = watched.current()?.list() ?? [];
      return all.filter((request) => !isFinished(request) || request.metadata.deletionTimestamp !== undefined);
    },
    synced: () => watched.current()?.synced() === true,
    watch: (wanted) => {
      if (lifetime().aborted) return;
      if (wanted) watched.start();
      else watched.stop();
    },
    report: async (request, step, signal) => {
      await reportProgress(client, request, { name: KUBELET_INTERCEPTOR, step, now: clock.now() }, signal);
    },
  };
}
