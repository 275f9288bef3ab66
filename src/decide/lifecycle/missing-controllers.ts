/** Whether anybody works on a request of a drain in `lifecycle.k8s.io`: its controllers may not be installed, or not run. */
import { HEARTBEAT_DEADLINE_MS } from '../../api/eviction-request.ts';
import type { Eviction, LifecycleRequest } from '../../api/lifecycle.ts';
import { timeOf } from '../time.ts';
import { wantsEviction } from './asked.ts';
import { isAnswered, isEvictionOver } from './conditions.ts';

/** Within this time a controller has looked at a request, and has made the Eviction for it. */
const ANSWER_MS = 60_000;
/** After a time that a controller keeps, it has this time to act. */
const LATE_MS = 60_000;
/** The longest pause of a controller before it makes another Eviction for a target. */
export const LONGEST_PAUSE_MS = 15 * 60_000;

/** What a request waits for: a controller, the next Eviction after one that has failed, a responder, or nothing. */
export type Awaited = 'controller' | 'next-eviction' | 'responder' | 'nothing';

/** What the request waits for; `eviction` is the one whose outcome it shows, if there is one yet. */
export function awaitedBy(request: LifecycleRequest, eviction: Eviction | undefined): Awaited {
  if (!wantsEviction(request) || isAnswered(request)) return 'nothing';
  if (!isObserved(request) || eviction === undefined) return 'controller';
  if (isEvictionOver(eviction)) return 'next-eviction';
  return heardAt(eviction) === undefined ? 'controller' : 'responder';
}

/** Whether a controller has looked at the request as it is now. */
export function isObserved({ metadata, status }: LifecycleRequest): boolean {
  return status?.observedGeneration === (metadata.generation ?? 1);
}

/** When the active responder was heard of last, or became active, in milliseconds since the epoch. */
function heardAt({ status }: Eviction): number | undefined {
  const active = status?.targetResponders?.find(({ state }) => state === 'Active')?.name;
  const entry = status?.responders?.find(({ name }) => name === active);
  return timeOf(entry?.heartbeatTime) ?? timeOf(entry?.startTime);
}

/** What is known of a request that waits. */
interface WaitFacts {
  readonly awaited: Awaited;
  readonly eviction: Eviction | undefined;
  /** For how many milliseconds it has waited for a controller, or for the next Eviction. */
  readonly waitedMs: number;
  /** Milliseconds since the epoch, by the clock of the API server. */
  readonly now: number;
}

/** In how many milliseconds it is clear that nobody works on the request, unless somebody acts; 0 where it is clear. */
export function unattendedInMs({ awaited, eviction, waitedMs, now }: WaitFacts): number {
  switch (awaited) {
    case 'nothing':
      return Infinity;
    case 'controller':
      return Math.max(0, ANSWER_MS - waitedMs);
    case 'next-eviction':
      return Math.max(0, LONGEST_PAUSE_MS + LATE_MS - waitedMs);
    case 'responder': {
      // A controller makes the next responder active where one is silent.
      const at = eviction === undefined ? undefined : heardAt(eviction);
      return at === undefined ? Infinity : Math.max(0, at + HEARTBEAT_DEADLINE_MS + LATE_MS - now);
    }
  }
}
