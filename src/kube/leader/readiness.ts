import { MAX_BEHIND_MS, observeReadiness, type Readiness } from '../../decide/leader/readiness.ts';
import type { Clock } from '../../host/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { ObjectCache } from '../watch.ts';

/** What is asked of a copy. */
export type CurrentCopy = Pick<ObjectCache<never>, 'current'>;

/** The names of the resources whose copies do not follow the API server. */
export function behindOf(copies: Readonly<Record<string, CurrentCopy>>): readonly string[] {
  return Object.keys(copies).filter((name) => copies[name]?.current() === false);
}

/** What a candidate asks before it stands for election, and at each renewal. */
export interface LeaderReadiness {
  /** Looks at the copies, and returns whether this replica may lead; `isAnswered` as `FoundCopies` has it. */
  mayLead(isAnswered: boolean): boolean;
  /** The resources that do not follow, where this replica does not lead for that; undefined where it may lead. */
  notReadyFor(): readonly string[] | undefined;
}

/**
 * Keeps an eye on the copies that there are at the time, by the names of their resources. That a replica does not lead is
 * logged once, and its end too.
 */
export function createLeaderReadiness(
  copies: () => Readonly<Record<string, CurrentCopy>>,
  { clock, log }: { readonly clock: Pick<Clock, 'monotonic'>; readonly log: Log },
): LeaderReadiness {
  let readiness: Readiness = { kind: 'ready' };
  return {
    mayLead: (isAnswered) => {
      const resources = behindOf(copies());
      const before = readiness;
      readiness = observeReadiness(before, { isCurrent: resources.length === 0, isAnswered }, clock.monotonic());
      if (before.kind !== 'not-ready' && readiness.kind === 'not-ready') {
        const why = `these watches have not followed the API server for ${MAX_BEHIND_MS / 1000} s: this replica does not lead until they do`;
        log.error({ resources }, why);
      }
      if (before.kind === 'not-ready' && readiness.kind === 'ready') {
        log.info({}, 'all watches follow the API server again: this replica stands for election');
      }
      return readiness.kind !== 'not-ready';
    },
    notReadyFor: () => (readiness.kind === 'not-ready' ? behindOf(copies()) : undefined),
  };
}
