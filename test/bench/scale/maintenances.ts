import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import { collectionPath, NODE_MAINTENANCES } from '../../../src/kube/resource.ts';
import { pause } from '../parallel.ts';
import { type ScaleCluster, send } from './cluster.ts';

/** Follows all maintenances. */
export interface MaintenanceWatch extends AsyncDisposable {
  /** Resolves when so many are Drained; returns the moment, by performance.now(). */
  untilDrained(count: number): Promise<number>;
  /** The largest one that was ever seen, in bytes of JSON. */
  largestBytes(): number;
}

interface WatchEvent {
  readonly type: string;
  readonly object: NodeMaintenance;
}

const COLLECTION = collectionPath(NODE_MAINTENANCES);

/** Starts to follow them. */
export function watchMaintenances({ client, signal }: ScaleCluster): MaintenanceWatch {
  const stop = new AbortController();
  const ending = AbortSignal.any([signal, stop.signal]);
  const drained = new Set<string>();
  let largest = 0;
  const see = ({ type, object }: WatchEvent): void => {
    if (type === 'BOOKMARK') return;
    largest = Math.max(largest, Buffer.byteLength(JSON.stringify(object)));
    const conditions = object.status?.conditions ?? [];
    if (conditions.some(({ type, status }) => type === 'Drained' && status === 'True'))
      drained.add(object.metadata.name);
  };
  const follow = async (): Promise<void> => {
    while (!ending.aborted) {
      const { metadata, items } = await send<{
        metadata: { resourceVersion: string };
        items: readonly NodeMaintenance[];
      }>(client, { method: 'GET', path: COLLECTION }, ending);
      for (const object of items) see({ type: 'ADDED', object });
      const path = `${COLLECTION}?watch=1&resourceVersion=${metadata.resourceVersion}`;
      // It is listed and watched again where the API server ends the watch.
      for await (const event of client.watch(path, ending)) see(event as WatchEvent);
    }
  };
  const following = follow().catch(() => undefined);
  return {
    untilDrained: async (count) => {
      while (drained.size < count) await pause(20, signal);
      return performance.now();
    },
    largestBytes: () => largest,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await following;
    },
  };
}
