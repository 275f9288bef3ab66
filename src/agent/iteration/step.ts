/** The steps of the agent's iteration, and how they are run: in their order, each whatever became of the others. */
import type { Phase } from '../../decide/shutdown/phase.ts';
import type { Transition } from '../../decide/shutdown/transition.ts';
import { describeError } from '../../errors.ts';
import type { Log } from '../../telemetry/log.ts';

/** What was decided at the beginning of an iteration. */
export interface Iteration {
  readonly phase: Phase;
  /** The transition that this iteration made; undefined where the phase stays as it was. */
  readonly transition: Transition | undefined;
}

/** One step of an iteration. What it cannot do it throws, and the next iteration tries again. */
export interface Step {
  /** What the step does, for the log. */
  readonly name: string;
  readonly run: (iteration: Iteration, signal: AbortSignal) => Promise<void>;
}

/** Lists of steps that do not wait for each other; the steps of one list run in their order. */
interface ConcurrentSteps {
  readonly concurrent: readonly (readonly Step[])[];
}

/** The steps of an iteration, in their order. */
export type Steps = readonly (Step | ConcurrentSteps)[];

/**
 * Runs steps so that a step that fails does not keep the others from running. A failure is logged with the name of the step when
 * it begins and when its reason changes, and once when it is over.
 */
export class StepRunner {
  readonly #log: Pick<Log, 'info' | 'warn'>;
  readonly #failures = new Map<string, string>();

  constructor(log: Pick<Log, 'info' | 'warn'>) {
    this.#log = log;
  }

  /** Runs one step; returns its result, or undefined where it failed. Throws only the reason of an aborted `signal`. */
  async attempt<T>(
    name: string,
    run: () => Promise<T>,
    signal: AbortSignal,
  ): Promise<{ readonly value: T } | undefined> {
    try {
      const value = await run();
      if (this.#failures.delete(name)) this.#log.info({ step: name }, 'step of the loop succeeds again');
      return { value };
    } catch (error) {
      signal.throwIfAborted();
      const reason = describeError(error);
      if (this.#failures.get(name) !== reason)
        this.#log.warn({ step: name, reason }, 'step of the loop failed, trying again');
      this.#failures.set(name, reason);
      return undefined;
    }
  }

  /** Runs the steps; returns whether all went well. Throws only the reason of an aborted `signal`, when none of them runs any more. */
  async runAll(steps: Steps, iteration: Iteration, signal: AbortSignal): Promise<boolean> {
    let isDone = true;
    for (const step of steps) {
      signal.throwIfAborted();
      const isStepDone =
        'concurrent' in step
          ? await this.#runConcurrently(step.concurrent, iteration, signal)
          : (await this.attempt(step.name, () => step.run(iteration, signal), signal)) !== undefined;
      isDone = isStepDone && isDone;
    }
    return isDone;
  }

  async #runConcurrently(
    lists: ConcurrentSteps['concurrent'],
    iteration: Iteration,
    signal: AbortSignal,
  ): Promise<boolean> {
    const outcomes = await Promise.allSettled(lists.map((list) => this.runAll(list, iteration, signal)));
    signal.throwIfAborted();
    return outcomes.every((outcome) => outcome.status === 'fulfilled' && outcome.value);
  }
}

/** Does the same for each item, whatever becomes of the others; then throws the first error, if there was one. */
export async function forEachApart<T>(items: Iterable<T>, run: (item: T) => Promise<void>): Promise<void> {
  const errors: unknown[] = [];
  for (const item of items) await run(item).catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw errors[0];
}
