/** One of them is written in this time, so that the first ones are written at once and many of them wait. */
const EVERY_MS = 500;
/** None waits longer. */
const AT_MOST_MS = 30_000;

/** Events that wait because a later Event of the same object may say what they say. */
export class WaitingEvents {
  /** The keys of the Events, by what the later Event is about and its reason. */
  readonly #keys = new Map<string, Set<string>>();
  readonly #saidBy = new Map<string, string>();
  /** When the next one is due, on the monotonic clock. */
  #dueAt = -Infinity;

  /** Notes an Event and by which one it is said. Returns for how long it has to wait, in milliseconds; `now` is monotonic. */
  add(key: string, saidBy: string, now: number): number {
    const at = Math.max(now, this.#dueAt);
    this.#dueAt = Math.min(at + EVERY_MS, now + AT_MOST_MS);
    const keys = this.#keys.get(saidBy) ?? new Set();
    this.#keys.set(saidBy, keys.add(key));
    this.#saidBy.set(key, saidBy);
    return at - now;
  }

  /** Notes that the Event is written, or forgotten. */
  end(key: string): void {
    const saidBy = this.#saidBy.get(key) ?? '';
    const keys = this.#keys.get(saidBy);
    keys?.delete(key);
    if (keys?.size === 0) this.#keys.delete(saidBy);
    this.#saidBy.delete(key);
  }

  /** The keys of those that this Event says too and that still wait. */
  saidBy(event: string): readonly string[] {
    return [...(this.#keys.get(event) ?? [])];
  }
}
