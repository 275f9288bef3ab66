import type { Pod } from '../api/pod.ts';
import { isLeftOfShutdown } from '../decide/failed-pods.ts';
import type { KubeClient } from './client.ts';
import { collectionPath, objectPath, PODS, sendForObject } from './resource.ts';

const PAGE = 500;

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
  const fields = encodeURIComponent(`spec.nodeName=${nodeName},status.phase=Failed`);
  let next = '';
  do {
    const path = `${collectionPath(PODS)}?fieldSelector=${fields}&limit=${PAGE}&continue=${encodeURIComponent(next)}`;
    const list = await sendForObject<{ items?: Pod[]; metadata?: { continue?: string } }>(
      client,
      { method: 'GET', path },
      [],
      signal,
    );
    for (const { metadata } of list?.items?.filter(isLeftOfShutdown) ?? []) {
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: metadata.uid } };
      const gone = await sendForObject(
        client,
        { method: 'DELETE', path: objectPath(PODS, metadata), body },
        [404, 409],
        signal,
      );
      if (gone !== undefined) removed.push(`${metadata.namespace}/${metadata.name}`);
    }
    next = list?.metadata?.continue ?? '';
  } while (next !== '');
  return removed;
}
