/**
 * What the interceptors of this product say in the one field that the API has for it (KEP-4563, "Eviction"), as facts: these
 * sentences are written and read here alone.
 */

/** What refuses a pod: budgets, a failure that says nothing about the pod, or something else. */
type RefusedBy = 'budget' | 'failure' | 'other';

/** What such a message means. */
type InterceptorSaid =
  /** The pod's containers are ending; `more` is what was said beside it. */
  | { readonly kind: 'ending'; readonly more: string }
  /** The Eviction API has refused the pod so many times in a row; `by` says for what the last time, `why` in which words. */
  | { readonly kind: 'refused'; readonly attempts: number; readonly by: RefusedBy; readonly why: string }
  /** Everything else, and what interceptors of others say. */
  | { readonly kind: 'other'; readonly text: string };

const COUNT_WORDS = 'Could not evict a pod due to failing eviction requests, number of retries: ';
const REFUSED = new RegExp(`^${COUNT_WORDS}(\\d{1,9})\\. (.*)$`, 's');
const ENDING = /^Pod \S+ is terminating\.(?: (.*))?$/s;
const ENDING_FOR = /^\S+ is terminating the pod due to node maintenance\b/;
/** Before the words of an answer that says nothing about the pod. */
const FAILED = 'Nobody could be asked: ';
/** Before the words about budgets. */
const BLOCKED = 'Blocked by ';

/** That a pod that was evicted is ending, with what else is to be said. */
export function endingMessage(podName: string, more = ''): string {
  return `Pod ${podName} is terminating.${more === '' ? '' : ` ${more}`}`;
}

/** That a pod is ended for a maintenance. */
export function endingForMessage(podName: string, reason: string): string {
  return `${podName} is terminating the pod due to node maintenance (${reason}).`;
}

/** That so many attempts have failed, the last one for this reason. */
export function refusedMessage(attempts: number, why: string): string {
  return `${COUNT_WORDS}${attempts}. ${why}`;
}

/** That budgets are the reason, with what is to be said of them, such as "PodDisruptionBudget p0, which needs 3 healthy pods". */
export function blockedWords(budgets: string): string {
  return `${BLOCKED}${budgets}.`;
}

/** That the API server could not ask whom it had to, or failed itself. */
export function failedWords(why: string): string {
  return `${FAILED}${why}`;
}

/** What a message means. */
export function readInterceptorMessage(message = ''): InterceptorSaid {
  const [, count, said = message] = REFUSED.exec(message) ?? [];
  const attempts = Number(count ?? 0);
  if (said.startsWith(FAILED)) return { kind: 'refused', attempts, by: 'failure', why: said };
  if (count !== undefined) {
    if (!said.startsWith(BLOCKED)) return { kind: 'refused', attempts, by: 'other', why: said };
    return { kind: 'refused', attempts, by: 'budget', why: said.slice(BLOCKED.length).replace(/\.$/, '') };
  }
  const ending = ENDING.exec(message);
  if (ending !== null) return { kind: 'ending', more: ending[1] ?? '' };
  return ENDING_FOR.test(message) ? { kind: 'ending', more: '' } : { kind: 'other', text: message };
}

/** How many attempts in a row have failed, as the message counts them. */
export function attemptsOf(message: string | undefined): number {
  const said = readInterceptorMessage(message);
  return said.kind === 'refused' ? said.attempts : 0;
}

/** The message without the number of attempts, which changes with each of them: "PodDisruptionBudget p0, which needs …". */
export function shortMessage(message: string): string {
  const said = readInterceptorMessage(message);
  return said.kind === 'refused' ? said.why : message;
}

/** What has refused the pod the last time; undefined where nothing has. */
export function refusedBy(message: string | undefined): RefusedBy | undefined {
  const said = readInterceptorMessage(message);
  return said.kind === 'refused' ? said.by : undefined;
}
