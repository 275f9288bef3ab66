import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { KubeClient } from '../../kube/client.ts';
import { withoutManagers } from '../../kube/cache/transform.ts';
import { listAll } from '../../kube/list.ts';
import { collectionPath, NODE_MAINTENANCES } from '../../kube/resource.ts';
import type { MaintenanceIndex } from './maintenances.ts';

/** Reads something that is at least as new as the call. */
export type SharedRead<T> = (signal: AbortSignal) => Promise<T>;

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

/** Reads all NodeMaintenances, complete where their machine was booted since, for what must not be done by an old copy. */
export function createMaintenanceRead(
  client: KubeClient,
  maintenances: Pick<MaintenanceIndex, 'withRebootApplied'>,
): SharedRead<readonly NodeMaintenance[]> {
  return createSharedRead(async (signal) => {
    const place = { path: collectionPath(NODE_MAINTENANCES) };
    const { items } = await listAll<NodeMaintenance>(client, place, withoutManagers, signal);
    return items.map((item) => maintenances.withRebootApplied(item));
  });
}
