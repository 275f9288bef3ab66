import type { NodeMaintenance } from '../api/node-maintenance.ts';
import type { PodDisruptionBudget } from '../api/pod.ts';
import type { Clock } from '../host/clock.ts';
import type { KubeClient } from '../kube/client.ts';
import type { EventRecorder } from '../kube/event/recorder.ts';
import type { ObjectCache } from '../kube/watch.ts';
import type { Log } from '../telemetry/log.ts';
import type { ControllerMetrics } from '../telemetry/controller-metrics.ts';
import type { UngatedDaemonSets } from '../kube/eviction/ungated-daemon-sets.ts';
import type { SharedRead } from './cache/fresh-maintenances.ts';
import type { Indexes } from './cache/indexes.ts';
import type { ControllerOptions } from './options.ts';

/** What the controller's loops share: one client and one live copy of each resource. */
export interface ControllerContext extends Indexes {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly options: ControllerOptions;
  readonly metrics: ControllerMetrics;
  readonly events: EventRecorder;
  /** DaemonSets that come back in spite of the gate. */
  readonly ungated: UngatedDaemonSets;
  readonly budgets: ObjectCache<PodDisruptionBudget>;
  /** Reads all NodeMaintenances, for what must not be done by an old copy. */
  readonly readMaintenances: SharedRead<readonly NodeMaintenance[]>;
}
