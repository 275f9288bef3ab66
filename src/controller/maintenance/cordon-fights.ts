import { afterRevert, type CordonFight, isTooMany, pauseLeftMs } from '../../decide/node-mark/cordon-fight.ts';
import type { Clock } from '../../host/clock.ts';

/** The nodes that somebody uncordons during a maintenance, so that two programs do not write again and again without a pause. */
export interface CordonFights {
  /** For how long the node is left uncordoned, in milliseconds. */
  leftMs(node: string): number;
  /** Notes that the node was cordoned again. Returns what is to be said where that has happened too often. */
  note(node: string): string | undefined;
}

/** When so many nodes are known, those that have been left alone since are forgotten. */
const MAX_KNOWN = 1_000;

export function createCordonFights(clock: Pick<Clock, 'monotonic'>): CordonFights {
  const fights = new Map<string, CordonFight>();
  return {
    leftMs: (node) => pauseLeftMs(fights.get(node), clock.monotonic()),
    note: (node) => {
      const now = clock.monotonic();
      const fight = afterRevert(fights.get(node), now);
      if (fights.size >= MAX_KNOWN) {
        for (const [each, known] of fights) if (pauseLeftMs(known, now) === 0) fights.delete(each);
      }
      fights.set(node, fight);
      if (!isTooMany(fight)) return undefined;
      return `Node ${node} was uncordoned ${fight.count} times in a row during its maintenance. Something uncordons it again and again; it is cordoned later each time, at most 5 minutes later.`;
    },
  };
}
