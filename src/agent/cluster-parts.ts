import type { ContainerRuntime } from '../host/cri/runtime.ts';
import type { Cluster, ClusterDependencies } from './cluster/cluster.ts';
import type { AgentContext } from './context.ts';
import { createKubeletInterceptor } from './static-pods/interceptor.ts';
import { createOverduePods } from './drain/overdue-pods.ts';
import { createSelfDrainer } from './drain/self/self-drain.ts';

/** The parts of the agent that only a node of a cluster has. */
export function createClusterParts(
  cluster: Cluster | undefined,
  dependencies: ClusterDependencies | undefined,
  runtime: ContainerRuntime,
  lifetime: AbortSignal,
): Pick<AgentContext, 'interceptor' | 'selfDrain' | 'overduePods'> {
  if (cluster === undefined || dependencies === undefined) {
    return { interceptor: undefined, selfDrain: undefined, overduePods: undefined };
  }
  return {
    interceptor: createKubeletInterceptor({ ...dependencies, cluster }),
    selfDrain: createSelfDrainer(cluster, dependencies, lifetime),
    overduePods: createOverduePods(cluster, runtime, dependencies, lifetime),
  };
}
