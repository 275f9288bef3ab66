/** The sentences of a report, which its text and its pictures share. */
import { counted } from '../../decide/counted.ts';
import type { Timeline } from '../../show/story/timeline.ts';
import { formatSpan } from '../../decide/duration.ts';

/** How the shutdown ended, in a few words, and whether the kubelet ended pods beside the drain, or budgets were not asked. */
export function outcomeText(line: Timeline): string {
  const beside = line.kubeletEnds === true ? '; the kubelet ended pods too, by its own graceful shutdown' : '';
  const budgets = line.budgetsNotAsked === true ? '; PodDisruptionBudgets were not asked: no other node stayed' : '';
  return `${endText(line)}${beside}${budgets}`;
}

function endText(line: Timeline): string {
  const { outcome, why, podsLeft } = line;
  // Somebody let it go, or it went down, and no pod is known that was left.
  const left =
    podsLeft === 0 ? 'it is not known which pods were left' : `${counted(podsLeft, 'pod was', 'pods were')} left`;
  switch (outcome) {
    case 'drained':
      return line.awayMs === undefined
        ? 'every pod has left, and the machine may go down'
        : 'every pod left before the machine went down';
    case 'not drained':
      return `${left}: ${why ?? ''}`;
    case 'called off':
      if (why !== undefined) return `the shutdown was called off; ${left}: ${why}`;
      return line.isReleased ? 'the shutdown was called off after every pod had left' : 'the shutdown was called off';
    case 'went down undrained':
      return `the machine went down, and ${left}`;
    case 'under way':
      return 'it is under way';
  }
}

/** Milliseconds as whole seconds that add up to their rounded sum: who reads a report adds. */
function wholeSeconds(all: readonly number[]): readonly number[] {
  const floors = all.map((ms) => Math.floor(ms / 1000));
  const sum = Math.round(all.reduce((total, ms) => total + ms, 0) / 1000);
  const missing = sum - floors.reduce((total, sec) => total + sec, 0);
  const byRest = all.map((ms, index) => ({ rest: ms % 1000, index })).toSorted((a, b) => b.rest - a.rest);
  const raised = new Set(byRest.slice(0, missing).map(({ index }) => index));
  return floors.map((sec, index) => (raised.has(index) ? sec + 1 : sec));
}

/** A part of the time of a hold: its name, its meaning, and its milliseconds, which are whole seconds. */
interface Part {
  readonly name: string;
  readonly kind: PartKind;
  readonly ms: number;
}

/** Where the time went: parts that add up to the time of the hold in whole seconds; empty ones are left out. */
export function partsOf({ spent }: Timeline): readonly Part[] {
  const { endingMs, interceptorMs, waitingMs, betweenMs } = spent;
  const seconds = wholeSeconds([endingMs, interceptorMs, waitingMs, betweenMs]);
  const parts = [
    { name: 'pods ended by themselves', kind: 'ending' },
    { name: 'interceptors of applications acted', kind: 'interceptor' },
    { name: 'pods waited', kind: 'waiting' },
    { name: 'nodemaint and the cluster were at work', kind: 'between' },
  ] as const;
  return parts.map((part, index) => ({ ...part, ms: (seconds[index] ?? 0) * 1000 })).filter(({ ms }) => ms > 0);
}

/** The kinds of time, each with a colour of its own. */
type PartKind = 'ending' | 'interceptor' | 'waiting' | 'between';

/** The one sentence that says why it took so long. */
export function sentenceOf(line: Timeline): string {
  const { heldMs } = line.spent;
  const sumOf = (kinds: readonly PartKind[]): number =>
    partsOf(line).reduce((sum, { kind, ms }) => (kinds.includes(kind) ? sum + ms : sum), 0);
  const pods = counted(line.pods, 'pod', 'pods');
  const [own, added] = [sumOf(['ending', 'interceptor']), sumOf(['waiting', 'between'])].map(formatSpan);
  const isUnderWay = line.outcome === 'under way';
  const verb = isUnderWay ? 'has been held for' : 'was held for';
  return `The shutdown ${verb} ${formatSpan(heldMs)} for ${pods}; the applications took ${own} of it, the hold added ${added}.`;
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
