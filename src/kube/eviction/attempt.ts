import type { Pod } from '../../api/pod.ts';
import {
  decideEvictionOutcome,
  type EvictionAnswerContext,
  type EvictionOutcome,
} from '../../decide/eviction/api-answer.ts';
import { NodemaintError } from '../../errors.ts';
import type { KubeClient } from '../client.ts';
import { postEviction, deletePod, type EndOptions } from './evictor.ts';

/** What became of an attempt, and the answer in the words of the API server or of its webhook. */
interface Attempted {
  readonly outcome: EvictionOutcome;
  readonly answer: string;
}

type Blocked = Extract<EvictionOutcome, { kind: 'blocked' }>;

/** What an attempt goes by. */
interface AttemptScope {
  readonly options: EndOptions;
  /** Whether the API server is only to say whether it would evict the pod. */
  readonly isTrial: boolean;
  readonly context: EvictionAnswerContext;
  /** Why budgets that refuse the eviction are not asked, as a sentence; undefined where they are. */
  readonly whyNotAsked: () => string | undefined;
}

/** Deletes a pod whose eviction only budgets refuse, which are not asked, with the grace period of an eviction. */
async function endWithoutBudget(
  client: KubeClient,
  pod: Pod,
  { why, options, blocked }: { readonly why: string; readonly options: EndOptions; readonly blocked: Blocked },
  signal: AbortSignal,
): Promise<EvictionOutcome> {
  try {
    const isDeleted = await deletePod(client, pod, options, signal);
    return isDeleted ? { kind: 'budget-not-asked', why } : { kind: 'gone' };
  } catch (error) {
    if (!(error instanceof NodemaintError) || error.code !== 'API_REFUSED') throw error;
    return { ...blocked, message: `${blocked.message} ${why} The deletion of the pod is refused: ${error.message}` };
  }
}

/**
 * One attempt at the Eviction API, and the deletion of the pod where only budgets refuse it that are not asked. Throws
 * API_UNREACHABLE.
 */
export async function attemptToEvict(
  client: KubeClient,
  pod: Pod,
  { options, isTrial, context, whyNotAsked }: AttemptScope,
  signal: AbortSignal,
): Promise<Attempted> {
  const asking = isTrial ? { ...options, dryRun: ['All'] as const } : options;
  const answered = await postEviction(client, pod, asking, signal);
  const answer = answered.message;
  // A webhook that cannot be asked for a trial says nothing about the pod.
  if (isTrial && answered.status === 400) return { outcome: { kind: 'accepted' }, answer };
  const outcome = decideEvictionOutcome(answered, context);
  if (outcome.kind !== 'blocked' || !outcome.byBudget) return { outcome, answer };
  const why = whyNotAsked();
  if (why === undefined) return { outcome, answer };
  if (isTrial) return { outcome: { kind: 'accepted' }, answer };
  return { outcome: await endWithoutBudget(client, pod, { why, options, blocked: outcome }, signal), answer };
}
