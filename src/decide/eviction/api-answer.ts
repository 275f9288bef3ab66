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

/** What became of one attempt; expected outcomes, not errors. */
export type EvictionOutcome =
  /** The pod is being deleted. */
  | { readonly kind: 'accepted' }
  /** The pod of this UID is gone, or another has taken its name. */
  | { readonly kind: 'gone' }
  /** Somebody else has started the eviction and promises its end (KEP-1397). */
  | { readonly kind: 'promised'; readonly message: string }
  /** Not now, and it says nothing about the pod: the API server is busy, or the namespace is on its way out. */
  | { readonly kind: 'postponed'; readonly retryAfterMs: number; readonly message: string }
  /** Refused; `untilChange` where the same try cannot succeed before somebody changes something. */
  | {
      readonly kind: 'blocked';
      readonly retryAfterMs: number;
      readonly message: string;
      readonly budgets: readonly string[];
      readonly untilChange: boolean;
    };

/** What reading an answer needs to know beside it. */
export interface EvictionAnswerContext {
  /** Which attempt this was; 1 is the first. */
  readonly attempt: number;
  /** Whether the pod asks that its eviction is only requested (KEP-1397). */
  readonly evictOnly: boolean;
  /** Words that tell a promise from a refusal (KEP-1397, evictionMessagePrefixes). */
  readonly promiseWords: readonly string[];
  /** The names of the PodDisruptionBudgets that select the pod. */
  readonly budgets: readonly string[];
  /** The longest pause after a refusal because of budgets, for a caller that does not see them change; 15 minutes where absent. */
  readonly budgetRetryMs?: number;
}

const FIRST_RETRY_MS = 2_000;
/** KEP-4563, "Eviction": exponential backoff with a maximum of about 15 minutes. */
const MAX_RETRY_MS = 15 * 60_000;
/** kubectl drain waits as long for the deletion of a terminating namespace to reach the pod. */
const TERMINATING_RETRY_MS = 5_000;
/** Where the API server asks for a pause without saying how long. */
const BUSY_RETRY_MS = 1_000;

/** The words of KEP-4563, "Eviction"; the count is read back from them after a restart. */
const COUNT_WORDS = 'Could not evict a pod due to failing eviction requests, number of retries: ';

/** How many attempts an interceptor's message counts. */
export function attemptsOf(message: string | undefined): number {
  const text = message ?? '';
  return text.startsWith(COUNT_WORDS) ? Number.parseInt(text.slice(COUNT_WORDS.length), 10) || 0 : 0;
}

/** Whether an interceptor's message says that a PodDisruptionBudget blocks the eviction. */
export function isBlockedByBudget(message: string): boolean {
  return message.includes('PodDisruptionBudget');
}

function blocked(
  { attempt, budgetRetryMs }: EvictionAnswerContext,
  why: string,
  budgets: readonly string[],
  options: { readonly byBudget?: boolean; readonly untilChange?: boolean; readonly atLeastMs?: number } = {},
): EvictionOutcome {
  const untilChange = options.untilChange === true;
  const maxMs = options.byBudget === true ? (budgetRetryMs ?? MAX_RETRY_MS) : MAX_RETRY_MS;
  const backoffMs = untilChange ? maxMs : Math.min(FIRST_RETRY_MS * 2 ** (attempt - 1), maxMs);
  return {
    kind: 'blocked',
    retryAfterMs: Math.max(backoffMs, options.atLeastMs ?? 0),
    message: `${COUNT_WORDS}${attempt}. ${why}`,
    budgets,
    untilChange,
  };
}

function decideTooManyRequests(answer: EvictionAnswer, context: EvictionAnswerContext): EvictionOutcome {
  const { message, causes, retryAfterMs } = answer;
  const promised = context.promiseWords.some((words) => message.includes(words));
  if (context.evictOnly && promised) return { kind: 'promised', message };
  const cause = causes.find(({ reason }) => reason === 'DisruptionBudget');
  // A webhook's refusal is no budget either, but it is an answer about this pod.
  const byBudget = cause !== undefined || message.includes('disruption budget');
  if (!byBudget && !message.includes('denied the request')) {
    const words = `The API server asks to slow down: ${message}`;
    return { kind: 'postponed', retryAfterMs: retryAfterMs ?? BUSY_RETRY_MS, message: words };
  }
  const named = /The disruption budget (\S+) /.exec(cause?.message ?? '')?.[1];
  const budgets = named === undefined ? context.budgets : [named];
  const which = budgets.length === 0 ? '' : ` PodDisruptionBudget ${budgets.join(', ')}:`;
  const atLeast = retryAfterMs === undefined ? {} : { atLeastMs: retryAfterMs };
  return blocked(context, `Blocked by${which} ${cause?.message ?? message}`, budgets, { byBudget, ...atLeast });
}

/** Reads the answer to an attempt at pods/eviction (KEP-4563, "Eviction"; 004; KEP-1397 for promises). */
export function decideEvictionOutcome(answer: EvictionAnswer, context: EvictionAnswerContext): EvictionOutcome {
  const { status, message, causes } = answer;
  if (status >= 200 && status < 300) return { kind: 'accepted' };
  if (status === 404) return { kind: 'gone' };
  // The precondition failed: the name belongs to another pod now. Other conflicts are worth another try.
  if (status === 409 && /UID in (the )?precondition/.test(message)) return { kind: 'gone' };
  if (status === 429) return decideTooManyRequests(answer, context);
  if (status === 403 && causes.some(({ reason }) => reason === 'NamespaceTerminating')) {
    const words = 'The namespace is being deleted, and the pod with it.';
    return { kind: 'postponed', retryAfterMs: TERMINATING_RETRY_MS, message: words };
  }
  if (status === 500 && message.includes('more than one PodDisruptionBudget')) {
    const names = context.budgets.length === 0 ? '' : ` (${context.budgets.join(', ')})`;
    const words = `${message} Nothing can evict it until only one of them${names} selects it.`;
    return blocked(context, words, context.budgets, { byBudget: true, untilChange: true });
  }
  return blocked(context, `HTTP ${status}: ${message}`, []);
}
