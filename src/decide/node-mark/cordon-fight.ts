/** How long the controller waits before it cordons a node again that somebody uncordons during a maintenance. */

/** The second time comes after this pause, which doubles with each further one. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 5 * 60_000;
/** After this time without another one, the next is the first again. */
const CALM_MS = 15 * 60_000;
/** So many in a row are no mistake of a person. */
const TOO_MANY = 5;

/** The cordons in a row that somebody has taken away. `lastAt` is in milliseconds of the monotonic clock. */
export interface CordonFight {
  readonly count: number;
  readonly lastAt: number;
}

/** What is known after the node was cordoned again. */
export function afterRevert(before: CordonFight | undefined, now: number): CordonFight {
  const isOver = before === undefined || now - before.lastAt > CALM_MS;
  return { count: isOver ? 1 : before.count + 1, lastAt: now };
}

/** For how long the node is left as it is before it is cordoned again, in milliseconds; the first time it is at once. */
export function pauseLeftMs(fight: CordonFight | undefined, now: number): number {
  if (fight === undefined || now - fight.lastAt > CALM_MS) return 0;
  const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (fight.count - 1), LONGEST_PAUSE_MS);
  return Math.max(0, fight.lastAt + pauseMs - now);
}

/** Whether this is the one at which it has to be said that somebody goes on uncordoning the node. */
export function isTooMany({ count }: CordonFight): boolean {
  return count % TOO_MANY === 0;
}
