import type { ContainerRuntime } from '../host/cri/runtime.ts';
import type { Cluster, ClusterDependencies } from './cluster/cluster.ts';
import type { AgentContext } from './context.ts';
import { createKubeletInterceptor } from './static-pods/interceptor.ts';
import { createOverduePods } from './drain/overdue-pods.ts';

/** The parts of the agent that only a node of a cluster has. */
export function createClusterParts(
  cluster: Cluster | undefined,
  dependencies: ClusterDependencies | undefined,
  runtime: ContainerRuntime,
  lifetime: AbortSignal,
): Pick<AgentContext, 'interceptor' | 'overduePods'> {
  if (cluster === undefined || dependencies === undefined) {
    return { interceptor: undefined, overduePods: undefined };
  }
  return {
    interceptor: createKubeletInterceptor({ ...dependencies, cluster }),
    overduePods: createOverduePods(cluster, runtime, dependencies, lifetime),
  };
}
