import type { Clock } from '../host/clock.ts';
import { describeError } from '../errors.ts';
import type { Log } from '../telemetry/log.ts';

/** Reconciles one object by its key; may ask to be called again after some milliseconds. */
export type Reconcile = (key: string, signal: AbortSignal) => Promise<{ readonly againMs?: number }>;

/** A queue of keys, as in controller-runtime: level-based, one run a key at a time, backoff on errors. */
export interface WorkQueue {
  add(key: string): void;
  /** Adds the key after a delay; an earlier time that is already set for it stays. */
  addAfter(key: string, delayMs: number): void;
  /** Works until the signal is aborted, then waits for the runs under way. */
  run(signal: AbortSignal): Promise<void>;
}

const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 60_000;

/** Makes a queue that runs at most `parallel` keys at a time. */
export function createWorkQueue(
  name: string,
  reconcile: Reconcile,
  parallel: number,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): WorkQueue {
  const waiting = new Set<string>();
  const running = new Set<string>();
  const failures = new Map<string, number>();
  const timers = new Map<string, { at: number; timer: NodeJS.Timeout }>();
  let wake: () => void = () => undefined;

  const add = (key: string): void => {
    waiting.add(key);
    wake();
  };

  const addAfter = (key: string, delayMs: number): void => {
    const at = clock.now() + delayMs;
    const known = timers.get(key);
    if (known !== undefined && known.at <= at) return;
    clearTimeout(known?.timer);
    const fire = (): void => {
      timers.delete(key);
      add(key);
    };
    timers.set(key, { at, timer: setTimeout(fire, Math.max(0, delayMs)) });
  };

  const runOne = async (key: string, signal: AbortSignal): Promise<void> => {
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
      addAfter(key, retryMs);
    } finally {
      running.delete(key);
      wake();
    }
  };

  const next = (): string | undefined => [...waiting].find((key) => !running.has(key));

  return {
    add,
    addAfter,
    run: async (signal) => {
      const tasks = new Set<Promise<void>>();
      const stop = (): void => {
        wake();
      };
      signal.addEventListener('abort', stop);
      while (!signal.aborted) {
        const key = running.size < parallel ? next() : undefined;
        if (key === undefined) {
          await new Promise<void>((resolve) => {
            wake = resolve;
            if (signal.aborted || (running.size < parallel && next() !== undefined)) resolve();
          });
          continue;
        }
        waiting.delete(key);
        running.add(key);
        const task = runOne(key, signal).finally(() => tasks.delete(task));
        tasks.add(task);
      }
      signal.removeEventListener('abort', stop);
      for (const { timer } of timers.values()) clearTimeout(timer);
      await Promise.all(tasks);
    },
  };
}
