import type { Clock } from '../host/clock.ts';
import { describeError } from '../errors.ts';
import type { Log } from '../telemetry/log.ts';
import type { QueueObserver } from '../telemetry/queue-metrics.ts';

/** Reconciles one object by its key; may ask to be called again after some milliseconds. */
export type Reconcile = (key: string, signal: AbortSignal) => Promise<{ readonly againMs?: number }>;

export interface QueueDependencies {
  readonly clock: Clock;
  readonly log: Log;
  readonly observer?: QueueObserver;
  /** Asked before each run; while it says no, the keys wait. They may always run unless it is given. */
  readonly mayRun?: () => boolean;
  /** Whether the key has to wait because of one of those that run; none does unless it is given. */
  readonly hasToWait?: (key: string, running: Iterable<string>) => boolean;
  /** Whether the key goes before others; asked when it is added. */
  readonly isUrgent?: (key: string) => boolean;
}

/** The pause after the first error of a key; it doubles with each further one. */
const FIRST_BACKOFF_MS = 100;
/** How often it is asked whether keys may run. */
const MAY_RUN_POLL_MS = 50;
/** The longest pause after an error. */
const MAX_BACKOFF_MS = 60_000;
/** setTimeout cannot wait longer; a key that is to wait longer is added after this time. */
const MAX_TIMER_MS = 2 ** 31 - 1;
/** After so many starts, or such a time, the event loop does its other work. */
const SLICE = { starts: 16, ms: 2 };
/** After so many urgent keys in a row one that is not urgent is taken, if any waits. */
const URGENT_IN_A_ROW = 8;

function backoffMs(failures: number): number {
  return Math.min(FIRST_BACKOFF_MS * 2 ** (failures - 1), MAX_BACKOFF_MS);
}

/** The keys that wait for a run: the urgent ones and the others, each in the order in which they came. */
class WaitingKeys {
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

/** A queue of keys, as in controller-runtime: level-based, one run of a key at a time, pauses that grow after errors. */
export class WorkQueue {
  readonly #name: string;
  readonly #reconcile: Reconcile;
  readonly #parallel: number;
  readonly #dependencies: QueueDependencies;
  readonly #waiting = new WaitingKeys();
  /** The keys that are being reconciled, by the time since which they are. */
  readonly #running = new Map<string, number>();
  /** How many errors in a row each key had. */
  readonly #failures = new Map<string, number>();
  readonly #timers = new Map<string, { readonly at: number; readonly timer: NodeJS.Timeout }>();
  /** How many runs were started since the event loop did other work, and when that was. */
  #starts = 0;
  #sliceSince = -Infinity;
  /** Makes `run` look for a key again. */
  #wake: () => void = () => undefined;

  /** At most `parallel` keys are reconciled at a time; `name` is in log lines. */
  constructor(name: string, reconcile: Reconcile, parallel: number, dependencies: QueueDependencies) {
    this.#name = name;
    this.#reconcile = reconcile;
    this.#parallel = parallel;
    this.#dependencies = dependencies;
    dependencies.observer?.unfinished(() => {
      const now = dependencies.clock.monotonic();
      return [...this.#running.values()].reduce((sum, since) => sum + (now - since) / 1000, 0);
    });
  }

  add(key: string): void {
    const { clock, observer, isUrgent } = this.#dependencies;
    if (this.#waiting.add(key, isUrgent?.(key) === true, clock.monotonic())) {
      observer?.added();
      observer?.depth(this.#waiting.size);
    }
    this.#wake();
  }

  /** Adds the key after a delay; an earlier time that is already set for it stays. */
  addAfter(key: string, delayMs: number): void {
    const waitMs = Math.min(Math.max(0, delayMs), MAX_TIMER_MS);
    const at = this.#dependencies.clock.monotonic() + waitMs;
    const known = this.#timers.get(key);
    if (known !== undefined && known.at <= at) return;
    clearTimeout(known?.timer);
    const timer = setTimeout(() => {
      this.#timers.delete(key);
      this.add(key);
    }, waitMs);
    this.#timers.set(key, { at, timer });
  }

  /**
   * Reconciles until `stop` is aborted, then waits for the runs under way. `signal`, the same one unless given, aborts these.
   */
  async run(stop: AbortSignal, signal: AbortSignal = stop): Promise<void> {
    const tasks = new Set<Promise<void>>();
    const onStop = (): void => {
      this.#wake();
    };
    stop.addEventListener('abort', onStop);
    const { clock, mayRun } = this.#dependencies;
    while (!stop.aborted) {
      if (mayRun?.() === false) {
        await clock.sleep(MAY_RUN_POLL_MS, stop).catch(() => undefined);
        continue;
      }
      const key = this.#next();
      if (key === undefined) {
        await this.#untilWoken(stop);
        continue;
      }
      this.#start(key);
      const task = this.#runOne(key, signal).finally(() => tasks.delete(task));
      tasks.add(task);
      await this.#giveWay();
    }
    stop.removeEventListener('abort', onStop);
    await Promise.all(tasks);
    for (const { timer } of this.#timers.values()) clearTimeout(timer);
  }

  /**
   * A run that writes nothing never leaves the processor, and there may be thousands of keys: the renewal of the Lease and the
   * probes run between short ones every few milliseconds, and after each long one.
   */
  async #giveWay(): Promise<void> {
    const { clock } = this.#dependencies;
    // The run that was started comes to its first wait.
    await Promise.resolve();
    this.#starts += 1;
    if (this.#starts < SLICE.starts && clock.monotonic() - this.#sliceSince < SLICE.ms) return;
    await new Promise(setImmediate);
    this.#starts = 0;
    this.#sliceSince = clock.monotonic();
  }

  /** The key that has waited longest among those that are not being reconciled; undefined while no more may run. */
  #next(): string | undefined {
    if (this.#running.size >= this.#parallel) return undefined;
    const { hasToWait } = this.#dependencies;
    return this.#waiting.find((key) => !this.#running.has(key) && hasToWait?.(key, this.#running.keys()) !== true);
  }

  async #untilWoken(stop: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (stop.aborted || this.#next() !== undefined) resolve();
    });
  }

  /** Moves a key from those that wait to those that are being reconciled. */
  #start(key: string): void {
    const { clock, observer } = this.#dependencies;
    const now = clock.monotonic();
    const since = this.#waiting.take(key) ?? now;
    observer?.started(now - since);
    observer?.depth(this.#waiting.size);
    this.#running.set(key, now);
    // This run says itself when the next one is due; a timer for an object that is gone would stay for its hour.
    clearTimeout(this.#timers.get(key)?.timer);
    this.#timers.delete(key);
  }

  async #runOne(key: string, signal: AbortSignal): Promise<void> {
    const { clock, observer } = this.#dependencies;
    const startedAt = clock.monotonic();
    try {
      const { againMs } = await this.#reconcile(key, signal);
      this.#failures.delete(key);
      if (againMs !== undefined) this.addAfter(key, againMs);
    } catch (error) {
      if (!signal.aborted) this.#retry(key, error);
    } finally {
      this.#running.delete(key);
      observer?.finished(clock.monotonic() - startedAt);
      this.#wake();
    }
  }

  /** Counts an error of a key, and adds the key again after a pause. */
  #retry(key: string, error: unknown): void {
    const { log, observer } = this.#dependencies;
    const count = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, count);
    const retryMs = backoffMs(count);
    const reason = describeError(error);
    log.warn({ queue: this.#name, key, reason, count, retryMs }, 'reconcile failed');
    observer?.retried();
    this.addAfter(key, retryMs);
  }
}
