/** Makes what the files of a run need, one thing after the other, while other files already run. */
import process from 'node:process';
import { runProgram } from '../processes.ts';
import type { Need } from './declared.ts';

/** How it is with what is made: each file may begin when all that it needs is there. */
export interface Making {
  /** Whether something is made, or not yet, or cannot be made. */
  stateOf(need: Need): 'made' | 'awaited' | 'failed';
  /** Resolves when the state of something has changed; at once where nothing will change any more. */
  changed(): Promise<void>;
}

const PROGRESS_MS = 60_000;

function secondsSince(beganAt: number): number {
  return Math.round((performance.now() - beganAt) / 1_000);
}

/** Makes one thing, at a low priority: it takes all processors, and tests measure times. Says how far it is. */
async function make(need: Need, place: string): Promise<boolean> {
  const beganAt = performance.now();
  const ticking = setInterval(() => {
    console.error(`--- need ${place}, ${need}: still being made after ${secondsSince(beganAt)} s`);
  }, PROGRESS_MS);
  try {
    const script = ['-n', '10', process.execPath, '--disable-warning=ExperimentalWarning', 'test/needs/make.ts', need];
    const isMade = (await runProgram('nice', script)) === 0;
    console.error(`--- need ${place}, ${need}: ${isMade ? 'there' : 'FAILED'} after ${secondsSince(beganAt)} s`);
    return isMade;
  } finally {
    clearInterval(ticking);
  }
}

/** Starts to make these in their order. */
export function startMaking(needs: readonly Need[]): Making {
  const done = new Map<Need, boolean>();
  let change = Promise.withResolvers<undefined>();
  const work = async (): Promise<void> => {
    for (const [index, need] of needs.entries()) {
      done.set(need, await make(need, `${index + 1} of ${needs.length}`).catch(() => false));
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
  };
}
