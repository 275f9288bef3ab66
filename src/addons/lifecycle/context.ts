import type { Pod, PodDisruptionBudget } from '../../api/pod.ts';
import type { Clock } from '../../host/clock.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { EventRecorder } from '../../kube/events.ts';
import type { ObjectCache } from '../../kube/watch.ts';
import type { Log } from '../../telemetry/log.ts';

/** What the controllers share: one client, the clock of the API server, and a live copy of each resource. */
export interface LifecycleContext {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventRecorder;
  readonly pods: ObjectCache<Pod>;
  readonly budgets: ObjectCache<PodDisruptionBudget>;
}
