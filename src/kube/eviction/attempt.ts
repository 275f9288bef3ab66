import type { Pod } from '../../api/pod.ts';
import {
  decideEvictionOutcome,
  type EvictionAnswerContext,
  type EvictionOutcome,
} from '../../decide/eviction/api-answer.ts';
import { NodemaintError } from '../../errors.ts';
import type { KubeClient } from '../client.ts';
import { deleteDisrupted, type EndOptions, postEviction } from './evictor.ts';

type Blocked = Extract<EvictionOutcome, { kind: 'blocked' | 'failed' }>;

/** `why` says why budgets are not asked, as a sentence, or undefined where they are; `now` is in milliseconds since the epoch. */
interface NotAsked {
  readonly why: () => string | undefined;
  readonly now: number;
}

/** What an attempt goes by. */
interface AttemptScope {
  readonly options: EndOptions;
  readonly context: EvictionAnswerContext;
  /** Whether budgets that refuse the eviction are not asked; absent where they are. */
  readonly notAsked?: NotAsked;
}

/** Deletes a pod whose eviction nobody but budgets refuses, which are not asked, with the grace period of an eviction. */
async function endWithoutBudget(
  client: KubeClient,
  pod: Pod,
  {
    why,
    options,
    blocked,
  }: { readonly why: string; readonly options: EndOptions & Pick<NotAsked, 'now'>; readonly blocked: Blocked },
  signal: AbortSignal,
): Promise<EvictionOutcome> {
  try {
    const isDeleted = await deleteDisrupted(client, pod, options, signal);
    return isDeleted ? { kind: 'budget-not-asked', why } : { kind: 'gone' };
  } catch (error) {
    if (!(error instanceof NodemaintError) || error.code !== 'API_REFUSED') throw error;
    return { ...blocked, message: `${blocked.message} ${why} The deletion of the pod is refused: ${error.message}` };
  }
}

/**
 * One attempt at the Eviction API, and the deletion of the pod where nobody but budgets refuses it and these are not asked: then
 * no node stays on which a webhook could run that cannot be called. Throws API_UNREACHABLE.
 */
export async function attemptToEvict(
  client: KubeClient,
  pod: Pod,
  { options, context, notAsked }: AttemptScope,
  signal: AbortSignal,
): Promise<EvictionOutcome> {
  const outcome = decideEvictionOutcome(await postEviction(client, pod, options, signal), context);
  if (outcome.kind !== 'failed' && !(outcome.kind === 'blocked' && outcome.byBudget)) return outcome;
  const why = notAsked?.why();
  if (notAsked === undefined || why === undefined) return outcome;
  const end = { why, options: { ...options, now: notAsked.now }, blocked: outcome };
  return await endWithoutBudget(client, pod, end, signal);
}
