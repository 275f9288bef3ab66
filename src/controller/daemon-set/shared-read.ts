/** Reads something that is at least as new as the call. */
type SharedRead<T> = (signal: AbortSignal) => Promise<T>;

/**
 * Makes a read that many may ask for at once: all that ask while one is under way share the next one, so that there is
 * never more than one at a time, and nobody gets an answer that is older than the question.
 */
export function createSharedRead<T>(read: (signal: AbortSignal) => Promise<T>): SharedRead<T> {
  let current: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | undefined;
  return (signal) => {
    if (next !== undefined) return next;
    const start = (): Promise<T> => {
      next = undefined;
      const reading = read(signal);
      current = reading.catch(() => undefined);
      return reading;
    };
    next = current.then(start);
    return next;
  };
}
