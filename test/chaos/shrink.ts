import type { History } from './history.ts';
import { signatureOf } from './invariants/violation.ts';
import type { Outcome, Question } from './run.ts';

/** So many candidates are played side by side. */
const PARALLEL = 4;

/** Plays a history; it may wait for others to end. */
export type Play = (history: History, question: Question) => Promise<Outcome>;

/** What a history is shrunk for. */
export interface Goal extends Question {
  /** The violation that has to stay. */
  readonly signature: string;
  /** The monotonic time, in milliseconds, after which no more candidates are tried. */
  readonly until: number;
}

/** The history without one of `count` parts of its steps, for each part. */
function candidatesOf({ seed, steps }: History, count: number): readonly History[] {
  const size = Math.ceil(steps.length / count);
  const starts = Array.from({ length: Math.ceil(steps.length / size) }, (_, index) => index * size);
  return starts.map((start) => ({ seed, steps: [...steps.slice(0, start), ...steps.slice(start + size)] }));
}

/** The history without the steps that changed nothing. */
function withoutIdleSteps({ history, performed }: Outcome): History {
  const kept = performed.filter(
    ({ outcome }) => !/^(no such|none|two run|it runs|it exists|nobody|left out|4\d\d|done$)/.test(outcome),
  );
  const needed = new Set([
    'wait',
    'rest',
    'set interceptors',
    'let pods end',
    'add static pod',
    'remove static pod',
    'step clock of controller',
    'step clock of agent',
  ]);
  const steps = performed.filter((each) => kept.includes(each) || needed.has(each.step.do)).map(({ step }) => step);
  return { seed: history.seed, steps };
}

/** The first of the histories that still shows the violation. */
async function firstFailing(play: Play, candidates: readonly History[], goal: Goal): Promise<Outcome | undefined> {
  for (let at = 0; at < candidates.length && performance.now() < goal.until; at += PARALLEL) {
    const batch = candidates.slice(at, at + PARALLEL);
    const outcomes = await Promise.all(batch.map((candidate) => play(candidate, goal)));
    const failing = outcomes.find(({ violations }) => violations.some((each) => signatureOf(each) === goal.signature));
    if (failing !== undefined) return failing;
  }
  return undefined;
}

/**
 * Drops steps for as long as the violation stays, in ever smaller parts (delta debugging), and returns the smallest
 * failing run; undefined where the history does not fail again.
 */
export async function shrinkHistory(play: Play, outcome: Outcome, goal: Goal): Promise<Outcome | undefined> {
  let best = await firstFailing(play, [withoutIdleSteps(outcome), outcome.history], goal);
  let count = 2;
  while (best !== undefined && performance.now() < goal.until) {
    const { steps } = best.history;
    if (steps.length === 0) return best;
    const smaller = await firstFailing(play, candidatesOf(best.history, Math.min(count, steps.length)), goal);
    if (smaller !== undefined) {
      best = smaller;
      count = Math.max(2, count - 1);
    } else if (count >= steps.length) return best;
    else count = Math.min(steps.length, count * 2);
  }
  return best;
}
