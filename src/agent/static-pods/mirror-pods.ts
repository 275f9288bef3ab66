import type { Pod } from '../../api/pod.ts';
import { staticUidOf } from '../../decide/static-pod/mirror-pod.ts';
import { describeError } from '../../errors.ts';
import type { KubeClient } from '../../kube/client.ts';
import { listAll } from '../../kube/list.ts';
import { collectionPath, keyOf, onNode, PODS } from '../../kube/resource.ts';
import { createLogOnce } from '../../telemetry/log-once.ts';
import type { Log } from '../../telemetry/log.ts';

/** The mirror pods of a node, by pod key. */
export type MirrorPods = ReadonlyMap<string, Pod>;

interface MirrorPodDependencies {
  readonly client: KubeClient;
  readonly log: Pick<Log, 'warn'>;
  readonly nodeName: string;
}

/** Creates the reader of the node's mirror pods; it returns undefined while the API server cannot be asked, which is logged. */
export function createMirrorPodReader({
  client,
  log,
  nodeName,
}: MirrorPodDependencies): (signal: AbortSignal) => Promise<MirrorPods | undefined> {
  const warnOnce = createLogOnce((reason) => {
    log.warn({ reason }, 'cannot ask for the mirror pods, eviction requests wait');
  });
  return async (signal) => {
    // By the node's name, as a node's identity is allowed to ask.
    const place = { path: collectionPath(PODS), query: { fieldSelector: onNode(nodeName) } };
    try {
      const { items: pods } = await listAll<Pod>(client, place, (pod) => pod, signal);
      warnOnce(undefined);
      const mirrors = pods.filter((pod) => staticUidOf(pod) !== undefined);
      return new Map(mirrors.map((pod) => [keyOf(pod), pod]));
    } catch (error) {
      signal.throwIfAborted();
      warnOnce(describeError(error));
      return undefined;
    }
  };
}
