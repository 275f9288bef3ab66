import type { Pod, PodDisruptionBudget } from '../../api/pod.ts';
import { budgetCovers } from '../../decide/disruption-budget/covers.ts';
import {
  decideEvictionOutcome,
  type EvictionAnswerContext,
  type EvictionOutcome,
} from '../../decide/eviction/api-answer.ts';
import { type EvictionMemory, isEvictOnly } from '../../decide/eviction/imperative.ts';
import { NodemaintError } from '../../errors.ts';
import type { KubeClient } from '../client.ts';
import { deleteDisrupted, type EndOptions, postEviction } from './evictor.ts';

/** What an attempt goes by. */
interface AttemptScope extends Pick<EvictionAnswerContext, 'promiseWords' | 'budgetRetryMs'> {
  /** The attempts before it. */
  readonly memory: EvictionMemory;
  readonly options: EndOptions;
  /** All that are known. */
  readonly budgets: readonly PodDisruptionBudget[];
  /** Why budgets that refuse the eviction are not asked, as a sentence, and the time since the epoch; absent where they are. */
  readonly notAsked?: { readonly why: string; readonly now: number } | undefined;
}

/**
 * One attempt at the Eviction API, and the deletion of the pod, with the grace period of an eviction, where nobody but budgets
 * refuses it and these are not asked: then no node stays on which a webhook could run that cannot be called. Throws
 * API_UNREACHABLE.
 */
export async function attemptToEvict(
  client: KubeClient,
  pod: Pod,
  { memory, options, budgets, notAsked, ...settings }: AttemptScope,
  signal: AbortSignal,
): Promise<EvictionOutcome> {
  const outcome = decideEvictionOutcome(await postEviction(client, pod, options, signal), {
    ...settings,
    attempt: memory.count + 1,
    postponed: memory.postponed,
    evictOnly: isEvictOnly(pod),
    budgets: budgets.filter((budget) => budgetCovers(budget, pod)),
  });
  if (outcome.kind !== 'failed' && !(outcome.kind === 'blocked' && outcome.byBudget)) return outcome;
  if (notAsked === undefined) return outcome;
  const { why, now } = notAsked;
  try {
    const isDeleted = await deleteDisrupted(client, pod, { ...options, now }, signal);
    return isDeleted ? { kind: 'budget-not-asked', why } : { kind: 'gone' };
  } catch (error) {
    if (!(error instanceof NodemaintError) || error.code !== 'API_REFUSED') throw error;
    return { ...outcome, message: `${outcome.message} ${why} The deletion of the pod is refused: ${error.message}` };
  }
}
