import type { Pod } from '../../../api/pod.ts';
import { noteRemoval, type Removal, removalDelayMs, returnsOf } from '../../../decide/daemon-set/escape.ts';
import { daemonSetOf, drainOf } from '../../../decide/daemon-set/gate.ts';
import type { NodeDrain } from '../../../decide/maintenance/maintenance.ts';
import { deletePod, type EndOptions } from '../../../kube/eviction/evictor.ts';
import { keyOf } from '../../../kube/resource.ts';
import type { ClusterDependencies } from '../../cluster/cluster.ts';
import type { Waiting } from '../../waiting.ts';
import { timeOf } from '../../../decide/time.ts';

/** The removals of this node's DaemonSet pods while its agent carries them out. */
export interface SelfRemovals {
  /**
   * Deletes a DaemonSet pod that the recorded targets select, ever later where its DaemonSet brings it back; `mayAct` is
   * asked right before. Throws API_UNREACHABLE and API_REFUSED.
   */
  remove(
    pod: Pod,
    recorded: readonly NodeDrain[],
    options: EndOptions,
    mayAct: () => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<Waiting>;
  forget(): void;
}

/** Makes the memory of removals, which is as long as the drains of the node. */
export function createSelfRemovals({ client, clock, log, nodeName }: ClusterDependencies): SelfRemovals {
  let removals: readonly Removal[] = [];
  return {
    remove: async (pod, recorded, options, mayAct, signal) => {
      const wait = (message: string): Waiting => ({ what: keyOf(pod), on: 'nodemaint agent', message, since: 0 });
      if (drainOf(pod, recorded) === undefined) return wait('its drain targets are not in the status yet');
      const daemonSet = daemonSetOf(pod) ?? '';
      const { uid = '', creationTimestamp } = pod.metadata;
      const returns = returnsOf(removals, daemonSet, nodeName, uid);
      const at = (timeOf(creationTimestamp) ?? 0) + removalDelayMs(returns);
      if (clock.now() < at) return { ...wait(`has come back ${returns} times, is deleted again`), expectedAt: at };
      if (await mayAct()) {
        await deletePod(client, pod, options, signal);
        removals = noteRemoval(removals, { daemonSet, node: nodeName, uid });
        log.info({ pod: keyOf(pod), returns }, 'deleted DaemonSet pod of own node');
      }
      return wait('is being deleted');
    },
    forget: () => {
      removals = [];
    },
  };
}
