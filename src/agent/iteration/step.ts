/** How the steps of the agent's iteration are run: each whatever became of the others. */
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

/** Runs one step: returns its result, or undefined where it failed. What it cannot do it throws, and the next iteration tries again. */
type RunStep = <T>(name: string, run: () => T) => Promise<{ readonly value: Awaited<T> } | undefined>;

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

  /** What runs a step; it throws only the reason of an aborted `signal`. */
  until(signal: AbortSignal): RunStep {
    return async (name, run) => {
      signal.throwIfAborted();
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
    };
  }
}

/** Waits for steps beside each other. Throws only the reason of an aborted `signal`, when none of them runs any more. */
export async function beside(steps: readonly Promise<void>[], signal: AbortSignal): Promise<void> {
  await Promise.allSettled(steps);
  signal.throwIfAborted();
}
