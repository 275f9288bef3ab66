/** The connection of a watch to the API server, as the person who follows it should hear of it. */
import { describeError, NodemaintError } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';
import { missingPermission } from '../../kube/refusal.ts';

/** An outage is shown until the next try must have succeeded or failed, and this many milliseconds longer. */
const OUTAGE_SLACK_MS = 2_000;
/** The longest pause before the next try, as a multiple of the pause that the watch announces; it adds jitter. */
const MAX_JITTER = 1.5;

const DENIALS: readonly unknown[] = [401, 403, 404];

/**
 * The refusal by which the API server denied a watch for good, with the permission that is missing; undefined where the
 * server itself is in trouble.
 */
export function denialOf(error: unknown): NodemaintError | undefined {
  if (!(error instanceof NodemaintError) || !DENIALS.includes(error.status)) return undefined;
  return new NodemaintError('API_REFUSED', `${error.message}${missingPermission(error.message)}`, { cause: error });
}

/** Knows whether the connection is lost. */
export interface FollowedConnection {
  /** A try failed; the next one is made in about `retryMs` milliseconds. */
  failed(error: unknown, retryMs: number): void;
  /** What to show of an outage; undefined while there is none. */
  note(): string | undefined;
}

/** Makes the state of a connection that is up. */
export function createFollowedConnection(clock: Pick<Clock, 'monotonic'>): FollowedConnection {
  let outage: { readonly until: number; readonly note: string } | undefined;
  return {
    failed: (error, retryMs) => {
      const until = clock.monotonic() + MAX_JITTER * retryMs + OUTAGE_SLACK_MS;
      outage = { until, note: `The connection is lost; trying again: ${describeError(error)}` };
    },
    note: () => {
      if (outage !== undefined && clock.monotonic() > outage.until) outage = undefined;
      return outage?.note;
    },
  };
}
