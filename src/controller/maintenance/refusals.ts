import { describeError, errorCodeOf } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';

/** The CRD takes no longer message of a pod that blocks. */
const MAX_MESSAGE = 1024;

/** Why the last step of an object failed. */
interface Refusal {
  readonly message: string;
  /** Since when steps of the object have failed, in milliseconds since the epoch. */
  readonly sinceAt: number;
}

/** What a step may say beside its result: why the object stays as it is, although nothing went wrong. */
interface Refusable {
  readonly againMs?: number;
  readonly refused?: string;
}

/**
 * What the API server refuses, so that the status of a maintenance can name it: it stands on no object. The keys are the names of
 * nodes, which have no slash, and those of EvictionRequests, NAMESPACE/UID, also of pods that have none.
 */
export class Refusals {
  readonly #clock: Clock;
  readonly #onChange: (key: string) => void;
  readonly #known = new Map<string, Refusal>();

  /** `onChange` is called with the key of an object that is refused for the first time or for another reason, or no longer. */
  constructor(clock: Clock, onChange: (key: string) => void) {
    this.#clock = clock;
    this.#onChange = onChange;
  }

  of(key: string): Refusal | undefined {
    return this.#known.get(key);
  }

  /**
   * Runs a step of an object. An error is thrown on; it, or what the step says, is remembered until a step succeeds. A call
   * without an answer is no refusal: it may have been carried out, or will be when the API server can be reached again.
   */
  async during(key: string, signal: AbortSignal, step: () => Promise<Refusable>): Promise<Refusable> {
    try {
      const result = await step();
      if (result.refused !== undefined) this.#note(key, result.refused);
      else if (this.#known.delete(key)) this.#onChange(key);
      return result;
    } catch (error) {
      if (!signal.aborted && errorCodeOf(error) !== 'API_UNREACHABLE') this.#note(key, describeError(error));
      throw error;
    }
  }

  #note(key: string, text: string): void {
    const before = this.#known.get(key);
    const message = text.slice(0, MAX_MESSAGE);
    this.#known.set(key, { message, sinceAt: before?.sinceAt ?? this.#clock.now() });
    if (before?.message !== message) this.#onChange(key);
  }
}
