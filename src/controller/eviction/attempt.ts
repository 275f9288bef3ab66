import { NODE_MAINTENANCE_API_VERSION } from '../../api/names.ts';
import type { Pod } from '../../api/pod.ts';
import { budgetCovers } from '../../decide/eviction/disruption-budget.ts';
import { type EvictionMemory, isEvictOnly } from '../../decide/eviction/imperative.ts';
import { goesDownNow } from '../../decide/maintenance/going-down.ts';
import { type Attempted, attemptToEvict } from '../../kube/eviction/attempt.ts';
import type { ControllerContext } from '../context.ts';
import { graceOptions } from '../deadline.ts';

/** Says on the shutdowns of the pod's node why budgets were not asked. */
function report({ maintenances, events }: ControllerContext, { spec: { nodeName = '' } }: Pod, why: string): void {
  for (const maintenance of maintenances.on(nodeName)) {
    if (goesDownNow(maintenance) !== nodeName) continue;
    const subject = { ...maintenance, apiVersion: NODE_MAINTENANCE_API_VERSION, kind: 'NodeMaintenance' };
    events.record(subject, { type: 'Warning', reason: 'BudgetNotAsked', message: why });
  }
}

/**
 * One attempt at the eviction of a pod; `memory` has those before it, and `isTrial` is true where the API server is only to say
 * whether it would evict the pod. Throws API_UNREACHABLE.
 */
export async function attemptEviction(
  context: ControllerContext,
  { pod, memory, isTrial }: { pod: Pod; memory: Pick<EvictionMemory, 'count' | 'postponed'>; isTrial: boolean },
  signal: AbortSignal,
): Promise<Attempted> {
  const { count, postponed } = memory;
  const budgets = context.budgets.list().filter((budget) => budgetCovers(budget, pod));
  const scope = {
    options: graceOptions(context, pod),
    isTrial,
    context: {
      attempt: count + 1,
      postponed,
      evictOnly: isEvictOnly(pod),
      promiseWords: context.options.promiseWords,
      budgets: budgets.map(({ metadata }) => metadata.name).toSorted(),
    },
    whyNotAsked: () => context.budgetRule.whyNotAsked(pod),
  };
  const attempted = await attemptToEvict(context.client, pod, scope, signal);
  if (attempted.outcome.kind === 'budget-not-asked') report(context, pod, attempted.outcome.why);
  return attempted;
}
