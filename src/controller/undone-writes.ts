import { pauseMs } from '../decide/eviction/back-off.ts';
import type { Clock } from '../host/clock.ts';

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 5 * 60_000;

/**
 * Remembers what somebody else takes back again and again, for the loop of one kind of object, by keys: two programs must not
 * write in turns without a pause.
 */
export class UndoneWrites {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #undone = new Map<string, { readonly count: number; readonly lastAt: number }>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** How long to wait before it is written again, in milliseconds: no time at the first time, then a pause that doubles. */
  restMs(key: string): number {
    const { count, lastAt } = this.#undone.get(key) ?? { count: 0, lastAt: 0 };
    return count === 0 ? 0 : lastAt + pauseMs(FIRST_PAUSE_MS, count - 1, LONGEST_PAUSE_MS) - this.#clock.monotonic();
  }

  /** Notes that it was written again. */
  rewritten(key: string): void {
    const count = (this.#undone.get(key)?.count ?? 0) + 1;
    this.#undone.set(key, { count, lastAt: this.#clock.monotonic() });
  }

  /** Forgets what is not to be written any more. */
  forget(key: string): void {
    this.#undone.delete(key);
  }
}
