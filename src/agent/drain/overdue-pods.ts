import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import { earliestDeadline } from '../../decide/deadline/maintenance.ts';
import { overduePods } from '../../decide/deadline/terminating-pod.ts';
import { describeError } from '../../errors.ts';
import type { ContainerRuntime } from '../../host/cri/runtime.ts';
import { keyOf } from '../../kube/resource.ts';
import type { Cluster, ClusterDependencies } from '../cluster/cluster.ts';
import { createNodePods } from '../cluster/node-pods.ts';
import { createSandboxStops, stopInPlaceOfKubelet } from '../../host/cri/pod-stops.ts';

/** Ends pods of this node whose end was shortened for a deadline after they had been told, which the kubelet ignores. */
export interface OverduePods {
  /** One look; watches the node's pods while one of its drains has a deadline. */
  reconcile(signal: AbortSignal): Promise<void>;
}

/** They have had their SIGTERM, and the time after it. */
const GRACE_SEC = 0;

/** Watches the pods of this node until `lifetime` aborts. */
export function createOverduePods(
  cluster: Cluster,
  runtime: ContainerRuntime,
  dependencies: ClusterDependencies,
  lifetime: AbortSignal,
): OverduePods {
  const { clock, log } = dependencies;
  const stops = createSandboxStops(runtime, clock);
  const pods = createNodePods(dependencies, lifetime);
  let complained = '';

  const hasDeadline = (): boolean => {
    const drains = cluster.drains().map(({ maintenance }) => cluster.maintenance(maintenance));
    return earliestDeadline(drains.filter((each): each is NodeMaintenance => each !== undefined)) !== undefined;
  };

  return {
    reconcile: async (signal) => {
      if (!hasDeadline()) {
        pods.rest();
        return;
      }
      const overdue = new Map(
        overduePods(pods.watch().list(), clock.now()).map((pod) => [pod.metadata.uid, keyOf(pod)]),
      );
      if (overdue.size === 0) return;
      try {
        for (const { id, podUid } of await runtime.livePods(signal)) {
          const pod = overdue.get(podUid);
          if (pod === undefined) continue;
          stops.begin(id, GRACE_SEC, stopInPlaceOfKubelet(log, { pod }, id, GRACE_SEC), signal);
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
