import type { KubeObject } from '../../api/meta.ts';
import type { Clock } from '../../host/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { KubeClient } from '../client.ts';
import { createWorkQueue, type Reconcile } from '../queue.ts';
import { createObjectCache, type ObjectCache, type Transform, type WatchScope } from '../watch.ts';

/** What a loop of its own is made of. */
interface WatchedLoop<T extends KubeObject> {
  readonly name: string;
  readonly parallel: number;
  readonly scope: WatchScope;
  /** What is kept of an object; all of it unless given. */
  readonly read?: Transform<T>;
  /** Makes the loop over the copy of what is watched. */
  readonly loopOver: (objects: Pick<ObjectCache<T>, 'get'>) => {
    readonly reconcile: Reconcile;
    readonly changed: (key: string) => void;
  };
}

/** Runs the loop for each object that is added, changed or deleted, until the signal is aborted. */
export async function runWatchedLoop<T extends KubeObject>(
  { name, parallel, scope, read, loopOver }: WatchedLoop<T>,
  dependencies: { readonly client: KubeClient; readonly clock: Clock; readonly log: Log },
  signal: AbortSignal,
): Promise<void> {
  const onKey = (key: string): void => {
    loop.changed(key);
    queue.add(key);
  };
  const objects = createObjectCache<T>(scope, onKey, dependencies, read);
  const loop = loopOver(objects);
  const queue = createWorkQueue(name, loop.reconcile, parallel, dependencies);
  await Promise.all([objects.run(signal), queue.run(signal)]);
}
