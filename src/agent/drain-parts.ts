import type { PhaseEvent } from '../decide/shutdown/events.ts';
import type { Cluster } from './cluster/cluster.ts';
import type { ClusterDependencies } from './cluster/dependencies.ts';
import type { OwnNode } from './cluster/own-node.ts';
import type { KubeletInterceptor } from './static-pods/interceptor.ts';
import { createBlockedPods } from './drain/blocked-pods.ts';
import { createControllerDrainer } from './drain/controller-drain.ts';
import { createDrainStep, type DrainStep } from './drain/drain.ts';
import { NO_DRAINER } from './drain/drainer.ts';
import { createLastLook, type LastLookDependencies } from './drain/last-look.ts';
import { createOfflineDrainer, type OfflineDrainDependencies } from './drain/offline/offline-drain.ts';
import type { ControllerLease } from './drain/controller-lease.ts';
import { createSelfGates } from './drain/gates.ts';
import { ProgressObserver } from './drain/observer.ts';
import { createGiveBack } from './drain/uncordon-and-ungate.ts';
import { createSelfDrainer } from './drain/self/self-drain.ts';

/** The drain of the node as the agent's loop uses it. */
export interface DrainParts {
  readonly step: DrainStep;
  /** Undefined where no cluster is configured. */
  readonly observer: ProgressObserver | undefined;
}

/** What the drain needs of a node's cluster; all of it is undefined where none is configured. */
export interface ClusterScope {
  readonly cluster: Cluster | undefined;
  readonly lease: ControllerLease | undefined;
  readonly interceptor: KubeletInterceptor | undefined;
  readonly dependencies: ClusterDependencies | undefined;
  readonly ownNode: OwnNode | undefined;
  /** For how long a drain by the agent waits for each volume, in milliseconds. */
  readonly maxVolumeWaitMs: number;
  /** After how long a controller that does nothing for the shutdown of this node is not waited for, in milliseconds. */
  readonly maxIdleMs: number;
  readonly announce: (event: PhaseEvent) => void;
}

/** Puts the three drainers together; without a cluster only the offline one drains. Watches end with `lifetime`. */
export function createDrainParts(
  { runtime, log, ...offline }: OfflineDrainDependencies & LastLookDependencies,
  { cluster, lease, interceptor, dependencies, ownNode, maxVolumeWaitMs, maxIdleMs, announce }: ClusterScope,
  lifetime: AbortSignal,
): DrainParts {
  const { drainPlan, clock } = offline;
  const offlineDrainer = createOfflineDrainer(offline);
  const lastLook = createLastLook({ runtime, clock, log });
  if (!cluster || !lease || !interceptor || !dependencies || !ownNode) {
    const drainers = { controller: NO_DRAINER, self: NO_DRAINER, offline: offlineDrainer };
    return {
      step: createDrainStep({ drainers, observer: undefined, lastLook, drainPlan, clock }),
      observer: undefined,
    };
  }
  const { nodeName } = dependencies;
  const giveBack = createGiveBack(dependencies, createSelfGates(dependencies), {
    ownNode,
    isAfterShutdown: () => cluster.own.own().length > 0,
  });
  const { maintenances, requests, own } = cluster;
  const parts = { nodeName, clock, lease, maintenances, own, requests, giveBack, maxIdleMs, announce };
  const observer = new ProgressObserver(parts);
  const byController = createControllerDrainer(cluster.own, interceptor, createBlockedPods(dependencies));
  const drainers = {
    controller: byController,
    self: createSelfDrainer(
      {
        requests,
        controller: observer,
        giveBack,
        maintenances,
        ownNode,
        byController,
        maxVolumeWaitMs,
      },
      dependencies,
      lifetime,
    ),
    offline: offlineDrainer,
  };
  return { step: createDrainStep({ drainers, observer, lastLook, drainPlan, clock }), observer };
}
