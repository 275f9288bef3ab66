/**
 * How far a machine that reboots is. Others wait for it only while it gets further: a pod that stays, a machine that does not
 * come back and a kubelet that does not start must not keep them up for ever.
 */

/** What is seen of a machine that has its turn. */
export interface RebootSight {
  readonly podsLeft: number;
  readonly isDrained: boolean;
  /** Whether its kubelet is at work. */
  readonly isReady: boolean;
  /** Whether its shutdown is over: it was booted since, or called off. */
  readonly isOver: boolean;
}

/** How far a reboot has come at most, and since when; `since` is monotonic, in milliseconds. */
export interface RebootProgress {
  readonly reached: number;
  readonly since: number;
}

/** After this time others no longer wait for a machine that gets no further: large machines need 10 minutes to start. */
export const DEFAULT_REBOOT_MS = 15 * 60_000;

/** More pods than a node has. */
const STEP = 1_000_000;

/** A number that grows on the way: with each pod that leaves, when the drain is over, when the machine goes, when it is back. */
function distanceOf({ podsLeft, isDrained, isReady, isOver }: RebootSight): number {
  if (isOver) return 3 * STEP;
  if (isDrained) return isReady ? STEP : 2 * STEP;
  return -podsLeft;
}

/** What is known after this sight. Going back, as a pod that returns or a kubelet that comes and goes, is no progress. */
export function noteProgress(known: RebootProgress | undefined, sight: RebootSight, now: number): RebootProgress {
  const reached = distanceOf(sight);
  return known === undefined || reached > known.reached ? { reached, since: now } : known;
}

/** Whether the machine has come no further for `maxMs`. */
export function isStalled({ since }: RebootProgress, maxMs: number, now: number): boolean {
  return now - since >= maxMs;
}
