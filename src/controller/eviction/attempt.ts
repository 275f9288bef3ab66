import type { Pod } from '../../api/pod.ts';
import { decideEvictionOutcome, type EvictionOutcome } from '../../decide/eviction/api-answer.ts';
import { budgetCovers } from '../../decide/eviction/disruption-budget.ts';
import { type EvictionMemory, isEvictOnly } from '../../decide/eviction/imperative.ts';
import { askForEviction } from '../../kube/eviction/evictor.ts';
import type { ControllerContext } from '../context.ts';
import { graceOptions } from '../deadline.ts';

/** What became of an attempt, and the answer in the words of the API server or of its webhook. */
export interface Attempted {
  readonly outcome: EvictionOutcome;
  readonly answer: string;
}

/**
 * One attempt at the Eviction API; `memory` has those before it, and `isTrial` is true where the API server is only to say
 * whether it would evict the pod. Throws API_UNREACHABLE.
 */
export async function attemptEviction(
  context: ControllerContext,
  { pod, memory, isTrial }: { pod: Pod; memory: Pick<EvictionMemory, 'count' | 'postponed'>; isTrial: boolean },
  signal: AbortSignal,
): Promise<Attempted> {
  const { count, postponed } = memory;
  const options = { ...graceOptions(context, pod), ...(isTrial ? { dryRun: ['All'] as const } : {}) };
  const answer = await askForEviction(context.client, pod, options, signal);
  // A webhook that cannot be asked for a trial says nothing about the pod.
  if (isTrial && answer.status === 400) return { outcome: { kind: 'accepted' }, answer: answer.message };
  const budgets = context.budgets.list().filter((budget) => budgetCovers(budget, pod));
  const outcome = decideEvictionOutcome(answer, {
    attempt: count + 1,
    postponed,
    evictOnly: isEvictOnly(pod),
    promiseWords: context.options.promiseWords,
    budgets: budgets.map(({ metadata }) => metadata.name).toSorted(),
  });
  return { outcome, answer: answer.message };
}
