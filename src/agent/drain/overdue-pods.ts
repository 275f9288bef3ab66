import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import { earliestDeadline } from '../../decide/deadline/maintenance.ts';
import { overduePods } from '../../decide/deadline/terminating-pod.ts';
import { describeError } from '../../errors.ts';
import type { ContainerRuntime } from '../../host/cri/runtime.ts';
import { keyOf } from '../../kube/resource.ts';
import { createLogOnce } from '../../telemetry/log-once.ts';
import type { ClusterDependencies } from '../cluster/dependencies.ts';
import type { NodeMaintenances } from '../cluster/maintenance-watch.ts';
import { createNodePods } from '../cluster/node-pods.ts';
import { createSandboxStops, stopInPlaceOfKubelet } from '../../host/cri/pod-stops.ts';

/** Ends terminating pods of this node whose grace period a deadline has shortened, which the kubelet ignores. */
export interface OverduePods {
  /** One pass; watches the node's pods while one of its drains has a deadline. */
  reconcile(signal: AbortSignal): Promise<void>;
}

/** These pods have had their SIGTERM and the time after it. */
const GRACE_SEC = 0;

/** Watches the pods of this node until `lifetime` aborts. */
export function createOverduePods(
  maintenances: Pick<NodeMaintenances, 'drains' | 'get'>,
  runtime: ContainerRuntime,
  dependencies: ClusterDependencies,
  lifetime: AbortSignal,
): OverduePods {
  const { clock, log } = dependencies;
  const stops = createSandboxStops(runtime, clock);
  const pods = createNodePods(dependencies, lifetime);
  const warnOnce = createLogOnce((reason) => {
    log.warn({ reason }, 'cannot see whether pods whose grace period is over have ended');
  });

  const hasDeadline = (): boolean => {
    const drains = maintenances.drains().map(({ maintenance }) => maintenances.get(maintenance));
    return earliestDeadline(drains.filter((each): each is NodeMaintenance => each !== undefined)) !== undefined;
  };

  return {
    reconcile: async (signal) => {
      if (!hasDeadline()) {
        pods.stop();
        return;
      }
      const overdue = new Map(
        overduePods(pods.start().list(), clock.now()).map((pod) => [pod.metadata.uid, keyOf(pod)]),
      );
      if (overdue.size === 0) return;
      try {
        for (const { id, podUid } of await runtime.livePods(signal)) {
          const pod = overdue.get(podUid);
          if (pod === undefined) continue;
          stops.begin(id, GRACE_SEC, stopInPlaceOfKubelet(log, { pod }, id, GRACE_SEC), signal);
        }
        warnOnce(undefined);
      } catch (error) {
        signal.throwIfAborted();
        warnOnce(describeError(error));
      }
    },
  };
}
