import type { Pod, PodDisruptionBudget } from '../../api/pod.ts';
import type { ServiceDependencies } from '../../kube/service/service.ts';
import type { EventRecorder } from '../../kube/events.ts';
import type { ObjectCache } from '../../kube/watch.ts';

/** What the controllers share: one client, the clock of the API server, and a live copy of each resource. */
export interface LifecycleContext extends ServiceDependencies {
  readonly events: EventRecorder;
  readonly pods: ObjectCache<Pod>;
  readonly budgets: ObjectCache<PodDisruptionBudget>;
}
