import type { Reconcile } from '../../kube/queue.ts';
import type { ControllerContext } from '../context.ts';
import type { EvictionIntents } from '../maintenance/wanted-evictions.ts';
import type { Refusals } from '../maintenance/refusals.ts';
import { drainIntentOf, groupedPod } from '../maintenance/requests.ts';
import type { GroupEvictions } from './evictions.ts';

/** One step of the eviction of one pod of a group, by the key that an EvictionRequest of it would have. */
export function createGroupReconciler(
  context: ControllerContext,
  intents: EvictionIntents,
  refusals: Refusals,
  groups: GroupEvictions,
): Reconcile {
  return (key, signal) =>
    refusals.during(key, signal, async () => {
      const intent = drainIntentOf(context, intents, key);
      const pod = intent === undefined ? undefined : groupedPod(context, intent.pod);
      return pod === undefined ? await groups.release(key, signal) : await groups.evict(pod, signal);
    });
}
