import type { Pod } from '../../api/pod.ts';
import { isLeftOfShutdown } from '../../decide/shutdown/failed-pods.ts';
import type { KubeClient } from '../client.ts';
import { deletePod } from './evictor.ts';
import { listAll } from '../list.ts';
import { collectionPath, keyOf, onNode, PODS } from '../resource.ts';

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
  const query = { fieldSelector: `${onNode(nodeName)},status.phase=Failed` };
  const list = await listAll<Pod>(client, { path: collectionPath(PODS), query }, (pod) => pod, signal);
  for (const pod of list.items.filter(isLeftOfShutdown)) {
    if (await deletePod(client, pod, {}, signal)) removed.push(keyOf(pod));
  }
  return removed;
}
