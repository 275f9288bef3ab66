import type { ClusterDependencies } from './cluster/dependencies.ts';
import { NodeMaintenances } from './cluster/maintenance-watch.ts';
import { NodeEvictionRequests } from './cluster/on-demand-watch.ts';
import { OwnMaintenances } from './cluster/own-maintenances.ts';
import { createOwnNode, type OwnNode } from './cluster/own-node.ts';
import { AgentPresence, type PresenceSources } from './cluster/presence.ts';
import { ControllerLease } from './drain/controller-lease.ts';
import { KubeletInterceptor } from './static-pods/interceptor.ts';
import { LostApiServer } from './static-pods/lost-api-server.ts';
import { UnrecordedMaintenances } from './static-pods/unrecorded-maintenances.ts';
import type { ClusterAccess } from '../kube/access/cluster.ts';
import type { KubeClient } from '../kube/client.ts';
import { createServerClock } from '../kube/server-clock.ts';

interface ClusterOptions {
  readonly access: ClusterAccess;
  /** The kernel's boot id, where this node's drains end with the boot. */
  readonly endsWithBoot: string | undefined;
  readonly presence: PresenceSources;
  /** Watches of one drain end with it; those of the maintenances run as `maintenances.run` is told. */
  readonly living: AbortSignal;
}

/** The cluster as the agent of one of its nodes sees it, and what the agent does there. */
export class Cluster {
  readonly access: ClusterAccess;
  readonly client: KubeClient;
  /** What watches and writers of this cluster are made from. */
  readonly dependencies: ClusterDependencies;
  /** Whether a controller is alive. */
  readonly lease: ControllerLease;
  readonly maintenances: NodeMaintenances;
  readonly own: OwnMaintenances;
  readonly requests: NodeEvictionRequests;
  readonly ownNode: OwnNode;
  readonly presence: AgentPresence;
  readonly unrecorded: UnrecordedMaintenances;
  readonly interceptor: KubeletInterceptor;
  readonly lostWay: LostApiServer;

  /** Nothing is asked of the API server before its maintenances or its presence run. The clock of `machine` is this machine's. */
  constructor(
    { access, endsWithBoot, presence, living }: ClusterOptions,
    machine: Omit<ClusterDependencies, 'aheadMs'>,
  ) {
    const { clock, aheadMs, noting } = createServerClock(machine.clock);
    const dependencies: ClusterDependencies = { ...machine, client: noting(machine.client), clock, aheadMs };
    this.access = access;
    this.client = dependencies.client;
    this.dependencies = dependencies;
    this.lease = new ControllerLease(dependencies);
    this.maintenances = new NodeMaintenances(dependencies, this.lease, (name) => {
      this.own.changed(name);
    });
    this.own = new OwnMaintenances(dependencies, this.maintenances, endsWithBoot);
    this.requests = new NodeEvictionRequests(dependencies, living);
    this.ownNode = createOwnNode(dependencies);
    this.presence = new AgentPresence(dependencies, presence);
    this.unrecorded = new UnrecordedMaintenances(dependencies, this.maintenances, this.ownNode);
    this.interceptor = new KubeletInterceptor(dependencies, this);
    const heardAt = (): number | undefined => this.maintenances.heardAt();
    this.lostWay = new LostApiServer({ ...dependencies, server: () => access.server, ownNode: this.ownNode, heardAt });
  }
}
