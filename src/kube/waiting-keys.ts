/** A key rests no longer than this after a run, in milliseconds. */
const MOST_REST_MS = 2_000;
/** After so many urgent keys in a row one that is not urgent is taken, if any waits. */
const URGENT_IN_A_ROW = 8;

/** The keys that wait for a run: the urgent ones and the others, each in the order in which they came. */
export class WaitingKeys {
  readonly #urgent = new Map<string, number>();
  readonly #patient = new Map<string, number>();
  #urgentInARow = 0;

  get size(): number {
    return this.#urgent.size + this.#patient.size;
  }

  /** Adds the key, which waits since `now`; returns false where it waits already. */
  add(key: string, isUrgent: boolean, now: number): boolean {
    if (this.#urgent.has(key)) return false;
    const since = this.#patient.get(key);
    if (isUrgent) {
      this.#patient.delete(key);
      this.#urgent.set(key, since ?? now);
    } else if (since === undefined) this.#patient.set(key, now);
    return since === undefined;
  }

  /** The first key that may run, or undefined. */
  find(mayRun: (key: string) => boolean): string | undefined {
    const [first, second] =
      this.#urgentInARow < URGENT_IN_A_ROW ? [this.#urgent, this.#patient] : [this.#patient, this.#urgent];
    for (const key of first.keys()) if (mayRun(key)) return key;
    for (const key of second.keys()) if (mayRun(key)) return key;
    return undefined;
  }

  /** Takes the key out; returns since when it has waited. */
  take(key: string): number | undefined {
    this.#urgentInARow = this.#urgent.has(key) ? this.#urgentInARow + 1 : 0;
    const since = this.#urgent.get(key) ?? this.#patient.get(key);
    this.#urgent.delete(key);
    this.#patient.delete(key);
    return since;
  }
}

/** Until when keys rest after their last run. */
export class Rests {
  readonly #until = new Map<string, number>();
  /** When so many are known, those that are over are forgotten. */
  #sweepAt = 1_000;

  begin(key: string, restMs: number, now: number): void {
    this.#until.set(key, now + Math.min(restMs, MOST_REST_MS));
    if (this.#until.size < this.#sweepAt) return;
    for (const [each, until] of this.#until) if (until <= now) this.#until.delete(each);
    this.#sweepAt = Math.max(1_000, 2 * this.#until.size);
  }

  leftMs(key: string, now: number): number {
    return Math.max(0, (this.#until.get(key) ?? now) - now);
  }
}
