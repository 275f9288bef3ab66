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

/** Runs steps so that a step that fails does not keep the others from running. */
export interface StepRunner {
  /** Runs the steps; returns whether all went well. Throws only the reason of an aborted `signal`, when none of them runs any more. */
  runAll(steps: Steps, iteration: Iteration, signal: AbortSignal): Promise<boolean>;
  /** Runs one step; returns its result, or undefined where it failed. Throws only the reason of an aborted `signal`. */
  attempt<T>(name: string, run: () => Promise<T>, signal: AbortSignal): Promise<{ readonly value: T } | undefined>;
}

/** A failure is logged with the name of the step when it begins and when its reason changes, and once when it is over. */
export function createStepRunner(log: Pick<Log, 'info' | 'warn'>): StepRunner {
  const failures = new Map<string, string>();
  const attempt: StepRunner['attempt'] = async (name, run, signal) => {
    try {
      const value = await run();
      if (failures.delete(name)) log.info({ step: name }, 'step of the loop succeeds again');
      return { value };
    } catch (error) {
      signal.throwIfAborted();
      const reason = describeError(error);
      if (failures.get(name) !== reason) log.warn({ step: name, reason }, 'step of the loop failed, trying again');
      failures.set(name, reason);
      return undefined;
    }
  };
  const runConcurrently = async (
    lists: ConcurrentSteps['concurrent'],
    iteration: Iteration,
    signal: AbortSignal,
  ): Promise<boolean> => {
    const outcomes = await Promise.allSettled(lists.map((list) => runAll(list, iteration, signal)));
    signal.throwIfAborted();
    return outcomes.every((outcome) => outcome.status === 'fulfilled' && outcome.value);
  };
  const runAll: StepRunner['runAll'] = async (steps, iteration, signal) => {
    let isDone = true;
    for (const step of steps) {
      signal.throwIfAborted();
      const isStepDone =
        'concurrent' in step
          ? await runConcurrently(step.concurrent, iteration, signal)
          : (await attempt(step.name, () => step.run(iteration, signal), signal)) !== undefined;
      isDone = isStepDone && isDone;
    }
    return isDone;
  };
  return { attempt, runAll };
}

/** Does the same for each item, whatever becomes of the others; then throws the first error, if there was one. */
export async function forEachApart<T>(items: Iterable<T>, run: (item: T) => Promise<void>): Promise<void> {
  const errors: unknown[] = [];
  for (const item of items) await run(item).catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw errors[0];
}
