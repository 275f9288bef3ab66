import type { Clock } from '../../host/clock.ts';
import type { KubeClient } from '../client.ts';
import { untilSynced } from '../copy/synced.ts';
import type { ObjectCache } from '../watch.ts';
import { isLifecycleServed } from './discovery.ts';
import type { LifecycleObjects } from './objects.ts';

/** How often it is asked whether the group is still served while its watches fail. */
const ASK_AGAIN_MS = 5_000;

/** A copy that can be run. */
type RunningCopy = Pick<ObjectCache<never>, 'synced' | 'current' | 'run'>;

/** The copies of both kinds. */
export function cachesOf({ requests, evictions }: LifecycleObjects): readonly RunningCopy[] {
  return [requests.cache, evictions.cache];
}

/**
 * Keeps the copies, and works from the moment when all of them, and `others`, have had their first list, until the signal is
 * aborted, or the cluster does not serve the group any more: then its watches fail, and discovery says so.
 */
export async function workWhileServed(
  { objects, others = [] }: { readonly objects: LifecycleObjects; readonly others?: readonly RunningCopy[] },
  work: (signal: AbortSignal) => Promise<void>,
  { client, clock }: { readonly client: KubeClient; readonly clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  const ended = new AbortController();
  const ending = AbortSignal.any([signal, ended.signal]);
  const caches = cachesOf(objects);
  const working = async (): Promise<void> => {
    await untilSynced([...caches, ...others], clock, ending);
    await work(ending);
  };
  const looking = async (): Promise<void> => {
    while (!ending.aborted) {
      await clock.sleep(ASK_AGAIN_MS, ending).catch(() => undefined);
      if (ending.aborted || caches.every((cache) => cache.current())) continue;
      if ((await isLifecycleServed(client, ending).catch(() => undefined)) === false) ended.abort();
    }
  };
  await Promise.all([...caches.map((cache) => cache.run(ending)), working(), looking()]);
}
