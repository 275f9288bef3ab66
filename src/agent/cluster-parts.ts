import type { ContainerRuntime } from '../host/cri/runtime.ts';
import type { ClusterAccess } from '../kube/access/cluster.ts';
import type { KubeClient } from '../kube/client.ts';
import { createServerClock } from '../kube/server-clock.ts';
import { type Cluster, createCluster } from './cluster/cluster.ts';
import type { ClusterDependencies } from './cluster/dependencies.ts';
import { createOwnNode, type OwnNode } from './cluster/own-node.ts';
import { type AgentPresence, createPresence, type PresenceSources } from './cluster/presence.ts';
import { ControllerLease } from './drain/controller-lease.ts';
import { createOverduePods, type OverduePods } from './drain/overdue-pods.ts';
import { createKubeletInterceptor, type KubeletInterceptor } from './static-pods/interceptor.ts';
import { createUnrecordedMaintenances, type UnrecordedMaintenances } from './static-pods/unlisted-maintenances.ts';

/** The parts of the agent that only a node of a cluster has. */
export interface ClusterParts {
  readonly access: ClusterAccess;
  readonly client: KubeClient;
  /** What watches and writers of this cluster are made from. */
  readonly dependencies: ClusterDependencies;
  readonly cluster: Cluster;
  /** Whether a controller is alive. */
  readonly lease: ControllerLease;
  readonly ownNode: OwnNode;
  readonly presence: AgentPresence;
  readonly unrecorded: UnrecordedMaintenances;
  readonly interceptor: KubeletInterceptor;
  readonly overduePods: OverduePods;
}

interface ClusterPartOptions {
  readonly access: ClusterAccess;
  /** The kernel's boot id, where this node's drains end with the boot. */
  readonly endsWithBoot: string | undefined;
  readonly runtime: ContainerRuntime;
  readonly presence: PresenceSources;
}

/**
 * Creates the parts; nothing is asked of the API server before the cluster runs. Their watches end with `lifetime`. The clock of
 * `machine` is this machine's.
 */
export function openCluster(
  { access, endsWithBoot, runtime, presence }: ClusterPartOptions,
  machine: Omit<ClusterDependencies, 'aheadMs'>,
  lifetime: AbortSignal,
): ClusterParts {
  const { clock, aheadMs, noting } = createServerClock(machine.clock);
  const dependencies: ClusterDependencies = { ...machine, client: noting(machine.client), clock, aheadMs };
  const lease = new ControllerLease(dependencies);
  const cluster = createCluster(dependencies, lease, endsWithBoot);
  const ownNode = createOwnNode(dependencies);
  return {
    access,
    client: dependencies.client,
    dependencies,
    cluster,
    lease,
    ownNode,
    presence: createPresence(dependencies, presence),
    unrecorded: createUnrecordedMaintenances(dependencies, cluster.maintenances, ownNode),
    interceptor: createKubeletInterceptor({ ...dependencies, cluster }),
    overduePods: createOverduePods(cluster.maintenances, runtime, dependencies, lifetime),
  };
}
