/** Makes what the files of a run need, one thing after the other, while other files already run. */
import process from 'node:process';
import { type Cost, type Ended, runCommand } from '../processes.ts';
import type { Need } from './declared.ts';

/** How it is with what is made: each file may begin when all that it needs is there. */
export interface Making {
  /** Whether something is made, or not yet, or cannot be made. */
  stateOf(need: Need): 'made' | 'awaited' | 'failed';
  /** Resolves when the state of something has changed; at once where nothing will change any more. */
  changed(): Promise<void>;
  /** What each has taken that was made. */
  readonly costs: readonly (Cost & { readonly file: string })[];
}

const PROGRESS_MS = 60_000;
const NOTHING: Ended = { passed: false, output: '', wallSec: 0, cpuSec: 0 };

function secondsSince(beganAt: number): number {
  return Math.round((performance.now() - beganAt) / 1_000);
}

/** Makes one thing, at a low priority: it takes all processors, and tests measure times. Says how far it is. */
async function make(need: Need, place: string): Promise<Ended> {
  const beganAt = performance.now();
  const ticking = setInterval(() => {
    console.error(`--- need ${place}, ${need}: still being made after ${secondsSince(beganAt)} s`);
  }, PROGRESS_MS);
  try {
    const script = [process.execPath, '--disable-warning=ExperimentalWarning', 'test/needs/make.ts', need];
    const ended = await runCommand({ words: ['nice', '-n', '10', ...script] });
    console.error(`--- need ${place}, ${need}: ${ended.passed ? 'there' : 'FAILED'} after ${secondsSince(beganAt)} s`);
    return ended;
  } finally {
    clearInterval(ticking);
  }
}

/** Starts to make these in their order. */
export function startMaking(needs: readonly Need[]): Making {
  const done = new Map<Need, boolean>();
  const costs: (Cost & { readonly file: string })[] = [];
  let change = Promise.withResolvers<undefined>();
  const work = async (): Promise<void> => {
    for (const [index, need] of needs.entries()) {
      const { passed, ...cost } = await make(need, `${index + 1} of ${needs.length}`).catch(() => NOTHING);
      done.set(need, passed);
      costs.push({ file: `need ${need}`, ...cost });
      change.resolve(undefined);
      change = Promise.withResolvers<undefined>();
    }
    change.resolve(undefined);
  };
  void work();
  return {
    stateOf: (need) => {
      const made = done.get(need);
      if (made === undefined) return needs.includes(need) ? 'awaited' : 'failed';
      return made ? 'made' : 'failed';
    },
    changed: () => change.promise,
    costs,
  };
}
