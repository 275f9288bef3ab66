import type { NodeMaintenance } from '../api/node-maintenance.ts';
import type { Pod } from '../api/pod.ts';
import { earliestDeadline } from '../decide/maintenance-deadline.ts';
import { overduePods } from '../decide/terminating-pod.ts';
import { describeError } from '../errors.ts';
import type { ContainerRuntime } from '../host/cri.ts';
import { PODS } from '../kube/resource.ts';
import { createObjectCache, keyOf, type ObjectCache } from '../kube/watch.ts';
import type { Cluster, ClusterDependencies } from './cluster.ts';
import { createSandboxStops } from './sandbox-stops.ts';

/** Ends pods of this node whose end was shortened for a deadline after they had been told, which the kubelet ignores. */
export interface OverduePods {
  /** One look; watches the node's pods while one of its drains has a deadline. */
  tend(signal: AbortSignal): Promise<void>;
}

/** They have had their SIGTERM, and the time after it. */
const GRACE_SEC = 0;

/** Makes it; its watch ends with `lifetime`. */
export function createOverduePods(
  cluster: Cluster,
  runtime: ContainerRuntime,
  dependencies: ClusterDependencies,
  lifetime: AbortSignal,
): OverduePods {
  const { clock, log, nodeName, onChange } = dependencies;
  const stops = createSandboxStops(runtime, { clock, log });
  let watched: { readonly cache: ObjectCache<Pod>; readonly stop: AbortController } | undefined;
  let complained = '';

  const hasDeadline = (): boolean => {
    const drains = cluster.drains().map(({ maintenance }) => cluster.maintenance(maintenance));
    return earliestDeadline(drains.filter((each): each is NodeMaintenance => each !== undefined)) !== undefined;
  };

  const watch = (): ObjectCache<Pod> => {
    if (watched !== undefined) return watched.cache;
    const stop = new AbortController();
    const scope = { resource: PODS, fieldSelector: `spec.nodeName=${nodeName}` };
    const cache = createObjectCache<Pod>(scope, onChange, dependencies);
    cache.run(AbortSignal.any([lifetime, stop.signal])).catch((error: unknown) => {
      log.error({ reason: describeError(error) }, "watch on the node's pods failed");
    });
    watched = { cache, stop };
    return cache;
  };

  return {
    tend: async (signal) => {
      if (!hasDeadline()) {
        watched?.stop.abort();
        watched = undefined;
        return;
      }
      const overdue = new Map(overduePods(watch().list(), clock.now()).map((pod) => [pod.metadata.uid, keyOf(pod)]));
      if (overdue.size === 0) return;
      try {
        for (const { id, podUid } of await runtime.livePods(signal)) {
          const pod = overdue.get(podUid);
          if (pod !== undefined) stops.begin({ pod }, id, GRACE_SEC, signal);
        }
        complained = '';
      } catch (error) {
        signal.throwIfAborted();
        const reason = describeError(error);
        if (reason !== complained) log.warn({ reason }, 'cannot see whether pods whose time is over have ended');
        complained = reason;
      }
    },
  };
}
