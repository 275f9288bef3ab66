/** What the Eviction API answered (004, "How API-initiated eviction works"). */
export interface EvictionAnswer {
  readonly status: number;
  readonly message: string;
  /** The Retry-After header in milliseconds; absent where there was none. */
  readonly retryAfterMs?: number;
}

/** What became of one attempt; expected outcomes, not errors. */
export type EvictionOutcome =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'gone' }
  | { readonly kind: 'blocked'; readonly retryAfterMs: number; readonly message: string };

const FIRST_RETRY_MS = 2_000;
/** KEP-4563, "Eviction": exponential backoff with a maximum of about 15 minutes. */
const MAX_RETRY_MS = 15 * 60_000;

/** Reads the answer to the `attempt`th try (1 is the first): 404 and 409 mean that the pod of this UID is gone. */
export function decideEvictionOutcome(answer: EvictionAnswer, attempt: number): EvictionOutcome {
  if (answer.status >= 200 && answer.status < 300) return { kind: 'accepted' };
  if (answer.status === 404 || answer.status === 409) return { kind: 'gone' };
  const backoffMs = Math.min(FIRST_RETRY_MS * 2 ** (attempt - 1), MAX_RETRY_MS);
  return {
    kind: 'blocked',
    retryAfterMs: Math.max(backoffMs, answer.retryAfterMs ?? 0),
    message: `Could not evict a pod due to failing eviction requests, number of retries: ${attempt}. ${answer.message}`,
  };
}
