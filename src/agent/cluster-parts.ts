import type { ContainerRuntime } from '../host/cri.ts';
import type { Cluster, ClusterDependencies } from './cluster.ts';
import type { AgentContext } from './context.ts';
import { createKubeletInterceptor } from './kubelet-interceptor.ts';
import { createOverduePods } from './overdue-pods.ts';
import { createOwnDrainer } from './own-drain.ts';

/** The parts of the agent that only a node of a cluster has. */
export function createClusterParts(
  cluster: Cluster | undefined,
  dependencies: ClusterDependencies | undefined,
  runtime: ContainerRuntime,
  lifetime: AbortSignal,
): Pick<AgentContext, 'interceptor' | 'ownDrain' | 'overduePods'> {
  if (cluster === undefined || dependencies === undefined) {
    return { interceptor: undefined, ownDrain: undefined, overduePods: undefined };
  }
  return {
    interceptor: createKubeletInterceptor({ ...dependencies, cluster }),
    ownDrain: createOwnDrainer(cluster, dependencies, lifetime),
    overduePods: createOverduePods(cluster, runtime, dependencies, lifetime),
  };
}
