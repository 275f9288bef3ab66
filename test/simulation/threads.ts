/** Plays in several threads at once: a simulation replaces the clocks of its thread, so that each plays one at a time. */
import { availableParallelism } from 'node:os';
import { parentPort, Worker } from 'node:worker_threads';

/** As many threads as the machine has processors for. */
export function threadCount(wanted: string | undefined): number {
  return wanted === undefined ? availableParallelism() : Number(wanted);
}

/** Runs in a thread: answers each input that `playInThreads` hands out. */
export function answerInputs<Input, Output>(answer: (input: Input) => Promise<Output>): void {
  parentPort?.on('message', (input: Input) => {
    // What is rejected ends the thread with this error, and that the whole run.
    void answer(input).then((output) => parentPort?.postMessage(output));
  });
}

/** Hands out the inputs to threads that run `file`, until there are none; `take` gets the answers as they come. */
export async function playInThreads<Input, Output>(
  file: string,
  inputs: Iterable<Input>,
  threads: number,
  take: (output: Output) => void,
): Promise<void> {
  const waiting = inputs[Symbol.iterator]();
  const playOn = async (): Promise<void> => {
    const worker = new Worker(file);
    try {
      await new Promise<void>((resolve, reject) => {
        const next = (): void => {
          const { done, value } = waiting.next();
          if (done === true) resolve();
          else worker.postMessage(value);
        };
        worker.on('error', reject);
        worker.on('message', (output: Output) => {
          take(output);
          next();
        });
        next();
      });
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: threads }, playOn));
}
