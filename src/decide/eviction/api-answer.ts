import {
  BUSY_RETRY_MS,
  FIRST_RETRY_MS,
  MAX_POSTPONED_MS,
  MAX_RETRY_MS,
  pauseMs,
  refusedPauseMs,
  TERMINATING_RETRY_MS,
} from './back-off.ts';
import type { PodDisruptionBudget } from '../../api/pod.ts';
import { counted } from '../counted.ts';
import { whyUncountable } from '../disruption-budget/covers.ts';
import { blockedWords, failedWords, refusedMessage } from '../interceptor/message.ts';

/** What the Eviction API answered (004, "How API-initiated eviction works"). */
export interface EvictionAnswer {
  readonly status: number;
  /** The message of the metav1.Status. */
  readonly message: string;
  /** details.causes of the metav1.Status. */
  readonly causes: readonly { readonly reason?: string; readonly message?: string }[];
  /** The Retry-After header in milliseconds; absent where there was none. */
  readonly retryAfterMs?: number;
}

/**
 * The words in a 429 by which a promised eviction differs from a refused one (KEP-1397), where no flag says others: KubeVirt's
 * for the first request, and for those while it migrates the virtual machine.
 */
export const DEFAULT_PROMISE_WORDS: readonly string[] = ['Eviction triggered', 'Evacuation in progress'];

/** What became of one attempt; expected outcomes, not errors. */
export type EvictionOutcome =
  /** The pod is being deleted. */
  | { readonly kind: 'accepted' }
  /** It is being deleted although a budget refuses its eviction, which protects nothing any more; `why` is a sentence. */
  | { readonly kind: 'budget-not-asked'; readonly why: string }
  /** The pod of this UID is gone, or another has taken its name. */
  | { readonly kind: 'gone' }
  /** Somebody else has started the eviction and promises its end (KEP-1397). */
  | { readonly kind: 'promised'; readonly message: string }
  /** Not now, and it says nothing about the pod: the API server is busy, or the namespace is on its way out. */
  | { readonly kind: 'postponed'; readonly retryAfterMs: number; readonly message: string }
  /** It says nothing about the pod either: a webhook could not be called, or the API server failed. */
  | { readonly kind: 'failed'; readonly retryAfterMs: number; readonly message: string }
  /** Refused; `untilChange` where the same try cannot succeed before somebody changes something. */
  | {
      readonly kind: 'blocked';
      readonly retryAfterMs: number;
      readonly message: string;
      readonly budgets: readonly string[];
      /** Whether PodDisruptionBudgets refuse it, and not a webhook or the API server itself. */
      readonly byBudget: boolean;
      readonly untilChange: boolean;
    };

/** Whether the API server could not evict the pod, and neither a budget nor a webhook has said that it is to stay. */
export function isApiFailure(outcome: EvictionOutcome): boolean {
  if (outcome.kind === 'failed') return true;
  if (outcome.kind !== 'blocked' || outcome.byBudget) return false;
  return !isDenial(outcome.message) && !outcome.message.includes('disruption budget');
}

/** What reading an answer needs to know beside it. */
export interface EvictionAnswerContext {
  /** Which attempt this was; 1 is the first. */
  readonly attempt: number;
  /** Whether the pod asks that its eviction is only requested (KEP-1397). */
  readonly evictOnly: boolean;
  /** Words that tell a promise from a refusal (KEP-1397, evictionMessagePrefixes). */
  readonly promiseWords: readonly string[];
  /** The PodDisruptionBudgets that select the pod; none where they are not known. */
  readonly budgets: readonly PodDisruptionBudget[];
  /** How many attempts in a row before this one were postponed. */
  readonly postponed: number;
  /** The longest pause after a refusal because of budgets, for a caller that does not see them change; 15 minutes where absent. */
  readonly budgetRetryMs?: number;
}

function blocked(
  { attempt, budgetRetryMs = MAX_RETRY_MS }: EvictionAnswerContext,
  why: string,
  budgets: readonly string[],
  options: {
    readonly byBudget?: boolean;
    readonly mayHaveRoom?: boolean;
    readonly untilChange?: boolean;
    readonly askedMs?: number | undefined;
  } = {},
): EvictionOutcome {
  const untilChange = options.untilChange === true;
  const longestMs = options.mayHaveRoom === true ? budgetRetryMs : MAX_RETRY_MS;
  return {
    kind: 'blocked',
    retryAfterMs: untilChange ? longestMs : refusedPauseMs(attempt, longestMs, options.askedMs),
    message: refusedMessage(attempt, why),
    budgets,
    byBudget: options.byBudget === true,
    untilChange,
  };
}

/** The failures before it stay in the message, from which they are read back after a restart. */
function postponed(
  { attempt, postponed: before }: EvictionAnswerContext,
  why: string,
  firstMs: number,
  askedMs?: number,
): Extract<EvictionOutcome, { kind: 'postponed' }> {
  const message = attempt === 1 ? why : refusedMessage(attempt - 1, why);
  return { kind: 'postponed', retryAfterMs: pauseMs(firstMs, before, MAX_POSTPONED_MS, askedMs), message };
}

/** A refusal that is about this pod: of a budget, or of a webhook in place of one. From Kubernetes 1.37 on, 403 for some budgets. */
function decideRefusal(answer: EvictionAnswer, context: EvictionAnswerContext): EvictionOutcome {
  const { message, retryAfterMs } = answer;
  const cause = budgetCauseOf(answer);
  // A webhook may speak for a budget; its other denials are none.
  const isBudget = cause !== undefined || message.includes('disruption budget');
  if (!isBudget) return blocked(context, `HTTP ${answer.status}: ${message}`, [], { askedMs: retryAfterMs });
  const named = /The disruption budget (\S+) /.exec(cause?.message ?? '')?.[1];
  const budgets = named === undefined ? namesOf(context) : [named];
  const options = { byBudget: cause !== undefined, mayHaveRoom: true, askedMs: retryAfterMs };
  const known = context.budgets.filter(({ metadata }) => budgets.includes(metadata.name));
  return blocked(context, budgetWords(budgets, known, cause?.message ?? message), budgets, options);
}

function namesOf({ budgets }: EvictionAnswerContext): readonly string[] {
  return budgets.map(({ metadata }) => metadata.name).toSorted();
}

/** What is to be said of the budgets of these names, where the API server has said this of them. */
function budgetWords(names: readonly string[], known: readonly PodDisruptionBudget[], said: string): string {
  const which = `PodDisruptionBudget ${names.join(', ')}`.trim();
  const uncountable = known.map(whyUncountable).find((why) => why !== undefined);
  if (uncountable !== undefined) return blockedWords(`${which}, which ${uncountable}`);
  const [, needs, has] = /needs (\d+) healthy pods and has (\d+)/.exec(said) ?? [];
  if (needs === undefined) return blockedWords(`${which}: ${said.replace(/\.$/, '')}`);
  return blockedWords(`${which}, which needs ${counted(Number(needs), 'healthy pod', 'healthy pods')} and has ${has}`);
}

function budgetCauseOf({ causes }: EvictionAnswer): EvictionAnswer['causes'][number] | undefined {
  return causes.find(({ reason }) => reason === 'DisruptionBudget');
}

/** A webhook's refusal, whatever status it has chosen for it. */
function isDenial(message: string): boolean {
  return message.includes('denied the request');
}

function decideTooManyRequests(answer: EvictionAnswer, context: EvictionAnswerContext): EvictionOutcome {
  const { message, retryAfterMs } = answer;
  const promised = context.promiseWords.some((words) => message.includes(words));
  if (context.evictOnly && promised) return { kind: 'promised', message };
  // A webhook's refusal is no budget either, but it is an answer about this pod.
  const aboutPod = budgetCauseOf(answer) !== undefined || message.includes('disruption budget') || isDenial(message);
  if (aboutPod) return decideRefusal(answer, context);
  return postponed(context, `The API server asks to slow down: ${message}`, BUSY_RETRY_MS, retryAfterMs);
}

/** Reads the answer to an attempt at pods/eviction (KEP-4563, "Eviction"; 004; KEP-1397 for promises). */
export function decideEvictionOutcome(answer: EvictionAnswer, context: EvictionAnswerContext): EvictionOutcome {
  const { status, message, causes } = answer;
  if (status >= 200 && status < 300) return { kind: 'accepted' };
  if (status === 404 && !isDenial(message)) return { kind: 'gone' };
  // The precondition failed: the name belongs to another pod now. Other conflicts are worth another try.
  if (status === 409 && /UID in (the )?precondition/.test(message)) return { kind: 'gone' };
  if (status === 429) return decideTooManyRequests(answer, context);
  if (status === 403 && causes.some(({ reason }) => reason === 'NamespaceTerminating')) {
    const words = 'The namespace is being deleted, and the pod with it.';
    return postponed(context, words, TERMINATING_RETRY_MS);
  }
  if (status === 403 && budgetCauseOf(answer) !== undefined) return decideRefusal(answer, context);
  if (status === 500 && message.includes('more than one PodDisruptionBudget')) {
    const names = namesOf(context);
    const words = budgetWords(names, [], 'no pod is evicted that more than one of them selects');
    return blocked(context, words, names, { byBudget: true, mayHaveRoom: true, untilChange: true });
  }
  if (status >= 500 && !isDenial(message)) {
    const words = failedWords(`HTTP ${status}: ${message}`);
    return { ...postponed(context, words, FIRST_RETRY_MS, answer.retryAfterMs), kind: 'failed' };
  }
  return blocked(context, `HTTP ${status}: ${message}`, []);
}
