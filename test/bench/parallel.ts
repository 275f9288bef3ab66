import { setTimeout as delay } from 'node:timers/promises';

/** Waits for so many milliseconds. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await delay(ms, undefined, signal === undefined ? {} : { signal });
}

/** Does a task for each item, so many at a time, in the order of the items. */
export async function inParallel<T>(
  items: readonly T[],
  parallel: number,
  task: (item: T, index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < items.length) {
      const index = next;
      next += 1;
      await task(items[index] as T, index);
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallel, items.length) }, work));
}
