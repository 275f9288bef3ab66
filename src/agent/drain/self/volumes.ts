import type { Node, Pod } from '../../../api/pod.ts';
import { comesBeforeVolumes, volumesOn } from '../../../decide/volume/wait.ts';
import { NODES, objectPath, sendForObject } from '../../../kube/resource.ts';
import type { ClusterDependencies } from '../../cluster/dependencies.ts';

/** The volumes of this node, as its Node object says; read only while they are waited for. */
interface SelfVolumes {
  /** None while pods are left that may use some. Throws API_UNREACHABLE and API_REFUSED. */
  observe(pods: readonly Pod[], signal: AbortSignal): Promise<readonly string[]>;
  /** Since when some have been there without such pods, in milliseconds since the epoch; undefined where none are. */
  since(): number | undefined;
  forget(): void;
}

/** The kubelet reports its volumes every ten seconds. */
const EVERY_MS = 5_000;

export function createSelfVolumes({ client, clock, nodeName }: ClusterDependencies): SelfVolumes {
  /** The last look, on the monotonic clock. */
  let last: { readonly at: number; readonly names: readonly string[] } | undefined;
  let since: number | undefined;
  const forget = (): void => {
    last = undefined;
    since = undefined;
  };
  return {
    observe: async (pods, signal) => {
      if (pods.some(comesBeforeVolumes)) {
        forget();
        return [];
      }
      if (last !== undefined && clock.monotonic() - last.at < EVERY_MS) return last.names;
      const at = clock.monotonic();
      const node = await sendForObject<Node>(
        client,
        { method: 'GET', path: objectPath(NODES, { name: nodeName }) },
        [404],
        signal,
      );
      last = { at, names: volumesOn(node) };
      since = last.names.length === 0 ? undefined : (since ?? clock.now());
      return last.names;
    },
    since: () => since,
    forget,
  };
}
