import type { Pod } from '../../api/pod.ts';
import { annotatedSince, isAnnotatedInProgress } from '../../decide/background-eviction/annotation.ts';
import type { Clock } from '../../host/clock.ts';
import type { ObjectCache } from '../watch.ts';

/** The pods that are annotated as being evicted in the background (KEP-1397), by their keys, NAMESPACE/NAME. */
export interface BackgroundEvictions {
  keys(): readonly string[];
  /** Since when the pod has the annotation, in milliseconds since the epoch; undefined where it has none. */
  sinceOf(key: string): number | undefined;
  /** Notes that the pod came, changed or went. */
  note(key: string): void;
}

/** Remembers since when the annotation is there: a later write of the same writer makes the time of managedFields later. */
export function createBackgroundEvictions(
  cache: Pick<ObjectCache<Pod>, 'get'>,
  clock: Pick<Clock, 'now'>,
): BackgroundEvictions {
  const known = new Map<string, { readonly uid: string | undefined; readonly since: number }>();
  return {
    keys: () => [...known.keys()],
    sinceOf: (key) => known.get(key)?.since,
    note: (key) => {
      const metadata = cache.get(key)?.metadata;
      if (metadata === undefined || !isAnnotatedInProgress(metadata)) {
        known.delete(key);
        return;
      }
      const { uid } = metadata;
      const before = known.get(key);
      if (before !== undefined && before.uid === uid) return;
      known.set(key, { uid, since: annotatedSince(metadata, clock.now()) });
    },
  };
}
