import type { EvictionRequest } from '../../api/eviction-request.ts';
import { KUBELET_INTERCEPTOR, NODE_LABEL } from '../../api/names.ts';
import { isFinished } from '../../decide/eviction/request.ts';
import { nodeLabel } from '../../decide/node-label.ts';
import { type InterceptorStep, reportProgress } from '../../kube/eviction/interceptor.ts';
import { EVICTION_REQUESTS } from '../../kube/resource.ts';
import type { ClusterDependencies } from './dependencies.ts';
import { createOnDemandWatch } from './on-demand-watch.ts';

/** The EvictionRequests of pods on this node, watched only while a drain needs them. */
export class NodeEvictionRequests {
  readonly #dependencies: ClusterDependencies;
  readonly #lifetime: () => AbortSignal;
  readonly #watched;

  /** There is no watch at first. None begins before `lifetime` returns a signal that is not aborted; all end with it. */
  constructor(dependencies: ClusterDependencies, lifetime: () => AbortSignal) {
    this.#dependencies = dependencies;
    this.#lifetime = lifetime;
    const labelSelector = `${NODE_LABEL}=${nodeLabel(dependencies.nodeName)}`;
    const what = {
      scope: { resource: EVICTION_REQUESTS, labelSelector },
      failure: 'watch on eviction requests failed',
    };
    this.#watched = createOnDemandWatch<EvictionRequest>(what, dependencies, lifetime);
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
    if (this.#lifetime().aborted) return;
    if (wanted) this.#watched.start();
    else this.#watched.stop();
  }

  /** Reports as the interceptor kubelet.k8s.io (KEP-4212, "kubelet: Static Pods"). */
  async report(request: EvictionRequest, step: InterceptorStep, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#dependencies;
    await reportProgress(client, request, { name: KUBELET_INTERCEPTOR, step, now: clock.now() }, signal);
  }
}
