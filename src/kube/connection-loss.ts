import { NodemaintError } from '../errors.ts';
import type { Clock } from '../host/clock.ts';

/** An API server that has just started refuses what it serves a moment later, for instance because it loads its RBAC rules. */
const WARM_UP_MS = 10_000;

/** What is known of the server: it does not answer, or it has answered again since this monotonic time. */
type Loss = { readonly kind: 'away' } | { readonly kind: 'answering'; readonly sinceMs: number };

/** Remembers that the connection to the API server was lost, until a list succeeds. */
export interface ConnectionLoss {
  /** Notes that a list or a watch has failed. Returns whether the server is only starting after it was away. */
  failed(error: unknown): 'failed' | 'warming-up';
  /** Notes that a list has succeeded. Returns whether the connection had been lost. */
  restored(): boolean;
}

export function hasCode(error: unknown, code: NodemaintError['code']): boolean {
  return error instanceof NodemaintError && error.code === code;
}

export function createConnectionLoss(clock: Clock): ConnectionLoss {
  let loss: Loss | undefined;
  return {
    failed: (error) => {
      if (hasCode(error, 'API_UNREACHABLE')) loss = { kind: 'away' };
      if (loss === undefined || !hasCode(error, 'API_REFUSED')) return 'failed';
      const now = clock.monotonic();
      if (loss.kind === 'away') loss = { kind: 'answering', sinceMs: now };
      return now - loss.sinceMs < WARM_UP_MS ? 'warming-up' : 'failed';
    },
    restored: () => {
      const wasLost = loss !== undefined;
      loss = undefined;
      return wasLost;
    },
  };
}
