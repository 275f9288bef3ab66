/** A replica whose watches have not followed for this long does not lead, where the API server answers it all the same. */
export const MAX_BEHIND_MS = 60_000;
/**
 * Watches that follow for a shorter time do not count: where a resource may be listed and not watched, each list makes its
 * copy right for an instant.
 */
export const STEADY_MS = 10_000;

/** Whether a replica of the controller has copies that follow the API server, from which it can decide. Times are in milliseconds of the monotonic clock. */
export type Readiness =
  | { readonly kind: 'ready' }
  /** Since `since` a watch does not follow while the API server answers; since `steadySince` all of them do again. */
  | { readonly kind: 'behind'; readonly since: number; readonly steadySince?: number }
  /** So for too long: it does not lead until all watches have followed for a while. */
  | { readonly kind: 'not-ready'; readonly steadySince?: number };

/** What was found of the copies. */
export interface FoundCopies {
  /** Whether all watches follow the API server. */
  readonly isCurrent: boolean;
  /**
   * Whether the API server answered the last call for the Lease. While it answers nobody, no watch can follow, and the Lease
   * is lost in any case: then the time does not run, so that its return finds everybody ready to lead.
   */
  readonly isAnswered: boolean;
}

function isSteady(steadySince: number | undefined, now: number): boolean {
  return steadySince !== undefined && now - steadySince >= STEADY_MS;
}

/** Whether a replica may lead after the copies were looked at again. */
export function observeReadiness(before: Readiness, { isCurrent, isAnswered }: FoundCopies, now: number): Readiness {
  if (before.kind === 'ready') return isCurrent ? before : { kind: 'behind', since: now };
  const steadySince = isCurrent ? (before.steadySince ?? now) : undefined;
  if (isSteady(steadySince, now)) return { kind: 'ready' };
  const steady = steadySince === undefined ? {} : { steadySince };
  if (before.kind === 'not-ready') return { kind: 'not-ready', ...steady };
  if (!isAnswered) return { kind: 'behind', since: now };
  const isTooLong = !isCurrent && now - before.since >= MAX_BEHIND_MS;
  return isTooLong ? { kind: 'not-ready' } : { kind: 'behind', since: before.since, ...steady };
}
