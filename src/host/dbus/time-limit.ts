import type { Clock } from '../clock.ts';

/** Waits for `work`, but at most `ms`; then it throws what `late` makes. Throws the signal's reason when it is aborted. */
export async function within<T>(
  clock: Clock,
  { ms, work, late }: { readonly ms: number; readonly work: Promise<T>; readonly late: () => Error },
  signal: AbortSignal,
): Promise<T> {
  signal.throwIfAborted();
  const done = new AbortController();
  const sleeping = clock.sleep(ms, AbortSignal.any([signal, done.signal])).then(() => Promise.reject(late()));
  try {
    return await Promise.race([work, sleeping]);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    done.abort();
    // The timer rejects when it is aborted; that rejection is expected and not used.
    sleeping.catch(() => undefined);
  }
}
