import type { DisruptionMode } from '../../decide/pod-group/pod-group.ts';
import type { Clock } from '../../host/clock.ts';
import type { KubeClient } from '../../kube/client.ts';
import { readDisruptionMode } from '../../kube/pod-group/disruption-mode.ts';

/** How groups can be disrupted, NAMESPACE/NAME. */
export interface GroupModes {
  /** Reads the PodGroup unless it was read less than MODE_HOLDS_MS ago. Throws API_UNREACHABLE and API_REFUSED. */
  of(group: string, signal: AbortSignal): Promise<DisruptionMode>;
  /** Forgets the group: no pod of it leaves any more. */
  forget(group: string): void;
}

/** The pods of a group take their steps together: for so long they share one read. */
const MODE_HOLDS_MS = 10_000;

/** One read for all pods of a group that ask at the same time, or soon after each other; one that fails is not kept. */
export function createGroupModes({
  client,
  clock,
}: {
  readonly client: KubeClient;
  readonly clock: Pick<Clock, 'monotonic'>;
}): GroupModes {
  const reads = new Map<string, { readonly mode: Promise<DisruptionMode>; readonly at: number }>();
  return {
    of: async (group, signal) => {
      const known = reads.get(group);
      if (known !== undefined && clock.monotonic() - known.at < MODE_HOLDS_MS) return await known.mode;
      const [namespace = '', name = ''] = group.split('/');
      const read = { mode: readDisruptionMode(client, { namespace, name }, signal), at: clock.monotonic() };
      reads.set(group, read);
      try {
        return await read.mode;
      } catch (error) {
        if (reads.get(group) === read) reads.delete(group);
        throw error;
      }
    },
    forget: (group) => {
      reads.delete(group);
    },
  };
}
