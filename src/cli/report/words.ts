/** The sentences of a report, which its text and its pictures share. */
import type { Timeline } from '../../decide/story/timeline.ts';
import { formatSpan } from '../terminal/text.ts';

/** How the shutdown ended, in a few words. */
export function outcomeText({ outcome, why, podsLeft }: Timeline): string {
  const left = `${podsLeft} ${podsLeft === 1 ? 'pod was' : 'pods were'} left`;
  switch (outcome) {
    case 'drained':
      return 'every pod left before the machine went down';
    case 'not drained':
      return `${left}: ${why ?? ''}`;
    case 'called off':
      return 'the shutdown was called off';
    case 'went down undrained':
      return `the machine went down, and ${left}`;
    case 'under way':
      return 'it is under way';
  }
}

/** Where the time went: each part with its name, its meaning, and its milliseconds; empty parts are left out. */
export function partsOf({
  spent,
}: Timeline): readonly { readonly name: string; readonly kind: PartKind; readonly ms: number }[] {
  const { endingMs, interceptorMs, waitingMs, betweenMs } = spent;
  const parts = [
    { name: 'pods ended by themselves', kind: 'ending', ms: endingMs },
    { name: 'interceptors of applications acted', kind: 'interceptor', ms: interceptorMs },
    { name: 'pods waited', kind: 'waiting', ms: waitingMs },
    { name: 'nodemaint and the cluster were at work', kind: 'between', ms: betweenMs },
  ] as const;
  return parts.filter(({ ms }) => ms > 0);
}

/** The kinds of time, each with a colour of its own. */
export type PartKind = 'ending' | 'interceptor' | 'waiting' | 'between';

/** The one sentence that says why it took so long. */
export function sentenceOf(line: Timeline): string {
  const { heldMs, addedMs } = line.spent;
  const pods = `${line.pods} ${line.pods === 1 ? 'pod' : 'pods'}`;
  const own = formatSpan(heldMs - addedMs);
  const verb = line.outcome === 'under way' ? 'has been held for' : 'was held for';
  return `The shutdown ${verb} ${formatSpan(heldMs)} for ${pods}; the applications took ${own} of it, the hold added ${formatSpan(addedMs)}.`;
}

/** A time on the axis, counted from the beginning: 0s, 1m30s. */
export function offsetText(at: number, from: number): string {
  return `+${formatSpan(at - from)}`;
}

/** Distances of an axis for a length: round ones, of which `most` fit. */
export function axisStepMs(lengthMs: number, most: number): number {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 86_400];
  return (
    1000 * (steps.find((sec) => lengthMs / (sec * 1000) <= most) ?? 86_400 * Math.ceil(lengthMs / 86_400_000 / most))
  );
}
