/** How many Events one object may have within a minute; further ones are left out. */
const MAX_PER_MINUTE = 30;
const MINUTE_MS = 60_000;

/** Counts the Events of each object by the minute. */
export class EventRate {
  /** How many Events each object had since this minute of the monotonic clock began. */
  readonly #counts = new Map<string, number>();
  #minute = -1;

  /** Counts one more Event of the object. Says whether there is room for it, and whether it is the first without. */
  count(object: string, now: number): 'room' | 'first-left-out' | 'left-out' {
    const minute = Math.floor(now / MINUTE_MS);
    if (minute !== this.#minute) this.#counts.clear();
    this.#minute = minute;
    const count = (this.#counts.get(object) ?? 0) + 1;
    this.#counts.set(object, count);
    if (count <= MAX_PER_MINUTE) return 'room';
    return count === MAX_PER_MINUTE + 1 ? 'first-left-out' : 'left-out';
  }
}
