/** A replica whose watches have not followed for this long does not lead, where the API server answers it all the same. */
export const MAX_BEHIND_MS = 60_000;
/**
 * Watches that follow for a shorter time do not count: where a resource may be listed and not watched, each list makes its
 * copy right for an instant.
 */
export const STEADY_MS = 10_000;

/** Whether a replica of the controller sees what it has to decide from. Times are in milliseconds of the monotonic clock. */
export type Sight =
  | { readonly kind: 'sees' }
  /** Since `since` a watch does not follow while the API server answers; since `steadySince` all of them do again. */
  | { readonly kind: 'behind'; readonly since: number; readonly steadySince?: number }
  /** So for too long: it does not lead until all watches have followed for a while. */
  | { readonly kind: 'blind'; readonly steadySince?: number };

/** What a look found. */
export interface Look {
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

/** What a replica sees after another look. */
export function observeSight(before: Sight, { isCurrent, isAnswered }: Look, now: number): Sight {
  if (before.kind === 'sees') return isCurrent ? before : { kind: 'behind', since: now };
  const steadySince = isCurrent ? (before.steadySince ?? now) : undefined;
  if (isSteady(steadySince, now)) return { kind: 'sees' };
  const steady = steadySince === undefined ? {} : { steadySince };
  if (before.kind === 'blind') return { kind: 'blind', ...steady };
  if (!isAnswered) return { kind: 'behind', since: now };
  const isTooLong = !isCurrent && now - before.since >= MAX_BEHIND_MS;
  return isTooLong ? { kind: 'blind' } : { kind: 'behind', since: before.since, ...steady };
}
