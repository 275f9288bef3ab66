import type { Loop } from '../../kube/loop/loops.ts';
import type { Reconcile } from '../../kube/queue.ts';
import type { Changes } from '../changes.ts';
import type { ControllerContext } from '../context.ts';
import type { EvictionIntents } from '../maintenance/wanted-evictions.ts';
import type { Drains } from '../maintenance/loops.ts';
import type { Refusals } from '../maintenance/refusals.ts';
import { drainIntentOf, groupedPod } from '../maintenance/requests.ts';
import type { GroupEvictions } from './evictions.ts';

/** As many as evictions that have requests. */
const PARALLEL = 64;

/** One step of the eviction of one pod of a group, by the key that an EvictionRequest of it would have. */
function createGroupReconciler(
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

/** The loop over the evictions of pods of groups. */
export function groupLoop(
  context: ControllerContext,
  { intents, refused }: Drains,
  groups: GroupEvictions,
): Loop<Changes> {
  return {
    name: 'pod-groups',
    parallel: PARALLEL,
    reconcile: createGroupReconciler(context, intents, refused.requests, groups),
    concerns: {
      Grouped: (key) => [key],
      Pod: ({ key }) => groups.ofPod(key),
      Budget: (key) => groups.budgetChanged(key),
    },
  };
}
