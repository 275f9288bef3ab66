import { Worker } from 'node:worker_threads';
import { setTimeout as delay } from 'node:timers/promises';
import { inputOf } from './inputs.ts';
import type { FuzzTarget } from './target.ts';
import type { Assignment, WorkerNews } from './worker.ts';

/** A case that went wrong. */
export interface Find {
  readonly number: number;
  readonly why: string;
}

/** What a run over one target came to. */
export interface FuzzReport {
  readonly inputs: number;
  readonly seconds: number;
  /** One of each kind. */
  readonly finds: readonly Find[];
}

/** An input that takes longer is reported as a hang. */
const HANG_MS = 1_000;
const LOOK_MS = 100;
const HEAP_MB = 256;
/** After so many finds of a target there is enough to do. */
const MAX_FINDS = 20;

/** What two finds have in common: the words of the error, and the first place in the program. */
export function kindOf(why: string): string {
  const lines = why.split('\n');
  const place = lines.find((line) => /^ +at .*\/src\//.test(line));
  if (place !== undefined) return `${lines[0]?.replace(/:.*/, '')} ${place.replace(/^.*\/src\//, '')}`;
  return (lines[0] ?? '').replaceAll(/[\d'"`].*/g, '').slice(0, 80);
}

interface Run {
  readonly outcome: 'done' | 'stopped' | 'hung' | 'died';
  /** Without the time that the worker took to begin. */
  readonly workedSec: number;
}

/** Runs a worker until it ends, has worked for so many seconds, or an input hangs; what it finds goes to `onFind`. */
async function runWorker(assignment: Assignment, onFind: (find: Find) => void, seconds: number): Promise<Run> {
  const counters = new Int32Array(assignment.progress);
  const worker = new Worker(new URL('./worker.ts', import.meta.url), {
    workerData: assignment,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  let ending: 'done' | 'died' | undefined;
  let readyAt: number | undefined;
  let begunAt = performance.now();
  let last = -1;
  worker.on('message', (news: WorkerNews) => {
    if (news.kind === 'ready') readyAt ??= performance.now();
    else if (news.kind === 'find') onFind(news);
    else ending = 'done';
  });
  worker.on('error', (error) => {
    onFind({ number: Atomics.load(counters, 0), why: `the worker died: ${error.stack ?? String(error)}` });
    ending = 'died';
  });
  const end = (outcome: Run['outcome']): Run => {
    return { outcome, workedSec: readyAt === undefined ? 0 : (performance.now() - readyAt) / 1000 };
  };
  try {
    for (;;) {
      await delay(LOOK_MS);
      if (ending !== undefined) return end(ending);
      const done = Atomics.load(counters, 1);
      if (done !== last || Atomics.load(counters, 2) === 0) {
        last = done;
        begunAt = performance.now();
      } else if (performance.now() - begunAt > HANG_MS) return end('hung');
      if (readyAt !== undefined && performance.now() - readyAt > seconds * 1000) return end('stopped');
    }
  } finally {
    await worker.terminate();
  }
}

/** Whether an input alone, in a worker of its own, takes more than its time once more: a busy machine makes others slow too. */
async function hangsAgain(target: FuzzTarget, seed: number, number: number): Promise<boolean> {
  const progress = new SharedArrayBuffer(12);
  // The input before it makes sure that the target is ready.
  const from = Math.max(0, number - 1);
  const assignment = { target: target.name, seed, from, count: number - from + 1, progress };
  for (let tries = 0; tries < 2; tries += 1) {
    new Int32Array(progress).fill(0);
    const { outcome } = await runWorker(assignment, () => undefined, 30);
    if (outcome !== 'hung') return false;
  }
  return true;
}

/** Tries one target with the inputs of a seed for some seconds. */
export async function fuzzTarget(target: FuzzTarget, seed: number, seconds: number): Promise<FuzzReport> {
  const found = new Map<string, Find>();
  const onFind = (find: Find): void => {
    const kind = kindOf(find.why);
    if (!found.has(kind)) found.set(kind, find);
  };
  let inputs = 0;
  let from = 0;
  let spent = 0;
  while (spent < seconds && found.size < MAX_FINDS) {
    const progress = new SharedArrayBuffer(12);
    const left = seconds - spent;
    const { outcome, workedSec } = await runWorker(
      { target: target.name, seed, from, count: Infinity, progress },
      onFind,
      left,
    );
    spent += workedSec;
    const counters = new Int32Array(progress);
    const number = Atomics.load(counters, 0);
    inputs += Atomics.load(counters, 1);
    if (outcome === 'hung' && (await hangsAgain(target, seed, number))) {
      onFind({ number, why: `an input of ${JSON.stringify(inputOf(target, seed, number)).length} characters hangs` });
    }
    from = number + 1;
  }
  return { inputs, seconds: spent, finds: [...found.values()] };
}
