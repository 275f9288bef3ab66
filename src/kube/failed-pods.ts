import type { Pod } from '../api/pod.ts';
import { isLeftOfShutdown } from '../decide/shutdown/failed-pods.ts';
import type { KubeClient } from './client.ts';
import { listAll } from './list.ts';
import { collectionPath, objectPath, PODS, sendForObject } from './resource.ts';

/**
 * Deletes the pods of a node that a shutdown left behind as Failed; a node's own identity may. Returns their names.
 * Throws API_UNREACHABLE and API_REFUSED, and can be called again.
 */
export async function removeFailedPods(
  client: KubeClient,
  nodeName: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const removed: string[] = [];
  const query = { fieldSelector: `spec.nodeName=${nodeName},status.phase=Failed` };
  const list = await listAll<Pod>(client, { path: collectionPath(PODS), query }, [], (pod) => pod, signal);
  for (const { metadata } of list.items.filter(isLeftOfShutdown)) {
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: metadata.uid } };
    const gone = await sendForObject(
      client,
      { method: 'DELETE', path: objectPath(PODS, metadata), body },
      [404, 409],
      signal,
    );
    if (gone !== undefined) removed.push(`${metadata.namespace}/${metadata.name}`);
  }
  return removed;
}
