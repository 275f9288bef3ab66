/** Plays in several threads at once: a simulation replaces the clocks of its thread, so that each plays one at a time. */
import { availableParallelism } from 'node:os';
import { parentPort, Worker } from 'node:worker_threads';

/** As many threads as the machine has processors for. */
export function threadCount(wanted: string | undefined): number {
  return wanted === undefined ? availableParallelism() : Number(wanted);
}

/** What a thread is told, and what it answers. */
export interface Exchange {
  readonly input: unknown;
  readonly output: unknown;
}

/** Runs in a thread: answers each input that `playInThreads` hands out. */
export function answerInputs<E extends Exchange>(answer: (input: E['input']) => Promise<E['output']>): void {
  parentPort?.on('message', (input: E['input']) => {
    // What is rejected ends the thread with this error, and that the whole run.
    void answer(input).then((output) => parentPort?.postMessage(output));
  });
}

/**
 * Hands out the inputs to threads that run `file`, until there are none; `take` gets the answers as they come. A thread that has not
 * answered after `limitMs` milliseconds is ended, `take` gets what `late` makes of its input, and another thread goes on.
 */
export async function playInThreads<E extends Exchange>(
  file: string,
  inputs: Iterable<E['input']>,
  threads: number,
  take: (output: E['output']) => void,
  limitMs: number,
  late: (input: E['input']) => E['output'],
): Promise<void> {
  const waiting = inputs[Symbol.iterator]();
  /** Plays with one thread; returns whether the inputs are through, and not the thread too late. */
  const playOn = async (): Promise<boolean> => {
    const worker = new Worker(file);
    let limit: NodeJS.Timeout | undefined;
    try {
      return await new Promise<boolean>((resolve, reject) => {
        const next = (): void => {
          const { done, value } = waiting.next();
          if (done === true) {
            resolve(true);
            return;
          }
          worker.postMessage(value);
          limit = setTimeout(() => {
            take(late(value));
            resolve(false);
          }, limitMs);
        };
        worker.on('error', reject);
        worker.on('message', (output: E['output']) => {
          clearTimeout(limit);
          take(output);
          next();
        });
        next();
      });
    } finally {
      clearTimeout(limit);
      await worker.terminate();
    }
  };
  const playAll = async (): Promise<void> => {
    while (!(await playOn()));
  };
  await Promise.all(Array.from({ length: threads }, playAll));
}
