import type { Clock } from '../host/clock.ts';
import { describeError } from '../errors.ts';
import type { Log } from '../telemetry/log.ts';
import type { QueueObserver } from '../telemetry/metrics.ts';

/** Reconciles one object by its key; may ask to be called again after some milliseconds. */
export type Reconcile = (key: string, signal: AbortSignal) => Promise<{ readonly againMs?: number }>;

/** A queue of keys, as in controller-runtime: level-based, one run a key at a time, backoff on errors. */
export interface WorkQueue {
  add(key: string): void;
  /** Adds the key after a delay; an earlier time that is already set for it stays. */
  addAfter(key: string, delayMs: number): void;
  /**
   * Works until `stop` is aborted, then waits for the runs under way; `signal`, the same one unless given, cuts these short.
   */
  run(stop: AbortSignal, signal?: AbortSignal): Promise<void>;
}

export interface QueueDependencies {
  readonly clock: Clock;
  readonly log: Log;
  readonly observer?: QueueObserver;
}

const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 60_000;
/** setTimeout cannot wait longer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Creates a queue that processes at most `parallel` keys at a time. */
export function createWorkQueue(
  name: string,
  reconcile: Reconcile,
  parallel: number,
  { clock, log, observer }: QueueDependencies,
): WorkQueue {
  /** Keys by the time since which they wait. */
  const waiting = new Map<string, number>();
  const running = new Map<string, number>();
  const failures = new Map<string, number>();
  const timers = new Map<string, { at: number; timer: NodeJS.Timeout }>();
  let wake: () => void = () => undefined;
  observer?.unfinished(() => {
    const now = clock.monotonic();
    return [...running.values()].reduce((sum, since) => sum + (now - since) / 1000, 0);
  });

  const add = (key: string): void => {
    if (!waiting.has(key)) {
      waiting.set(key, clock.monotonic());
      observer?.added();
      observer?.depth(waiting.size);
    }
    wake();
  };

  const addAfter = (key: string, delayMs: number): void => {
    const waitMs = Math.min(Math.max(0, delayMs), MAX_TIMER_MS);
    const at = clock.monotonic() + waitMs;
    const known = timers.get(key);
    if (known !== undefined && known.at <= at) return;
    clearTimeout(known?.timer);
    const fire = (): void => {
      timers.delete(key);
      add(key);
    };
    timers.set(key, { at, timer: setTimeout(fire, waitMs) });
  };

  const runOne = async (key: string, signal: AbortSignal): Promise<void> => {
    const startedAt = clock.monotonic();
    try {
      const { againMs } = await reconcile(key, signal);
      failures.delete(key);
      if (againMs !== undefined) addAfter(key, againMs);
    } catch (error) {
      if (signal.aborted) return;
      const count = (failures.get(key) ?? 0) + 1;
      failures.set(key, count);
      const retryMs = Math.min(FIRST_BACKOFF_MS * 2 ** (count - 1), MAX_BACKOFF_MS);
      log.warn({ queue: name, key, reason: describeError(error), count, retryMs }, 'reconcile failed');
      observer?.retried();
      addAfter(key, retryMs);
    } finally {
      running.delete(key);
      observer?.finished(clock.monotonic() - startedAt);
      wake();
    }
  };

  /** The key that has waited longest among those that are not being worked on. */
  const next = (): string | undefined => {
    for (const key of waiting.keys()) if (!running.has(key)) return key;
    return undefined;
  };

  return {
    add,
    addAfter,
    run: async (stop, signal = stop) => {
      const tasks = new Set<Promise<void>>();
      const onStop = (): void => {
        wake();
      };
      stop.addEventListener('abort', onStop);
      while (!stop.aborted) {
        const key = running.size < parallel ? next() : undefined;
        if (key === undefined) {
          await new Promise<void>((resolve) => {
            wake = resolve;
            if (stop.aborted || (running.size < parallel && next() !== undefined)) resolve();
          });
          continue;
        }
        const now = clock.monotonic();
        observer?.started(now - (waiting.get(key) ?? now));
        waiting.delete(key);
        observer?.depth(waiting.size);
        running.set(key, now);
        const task = runOne(key, signal).finally(() => tasks.delete(task));
        tasks.add(task);
        // A run that writes nothing never leaves the processor, and there may be thousands of keys: the renewal of the Lease
        // and the probes come between any two of them.
        await new Promise(setImmediate);
      }
      stop.removeEventListener('abort', onStop);
      await Promise.all(tasks);
      for (const { timer } of timers.values()) clearTimeout(timer);
    },
  };
}
