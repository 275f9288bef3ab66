import type { Pod } from '../../../api/pod.ts';
import { drainOf } from '../../../decide/daemon-set/gate.ts';
import type { NodeDrain } from '../../../decide/maintenance/maintenance.ts';
import { deletePod, type EndOptions } from '../../../kube/eviction/evictor.ts';
import { keyOf } from '../../../kube/resource.ts';
import { createUngatedDaemonSets } from '../../../kube/eviction/ungated-daemon-sets.ts';
import type { ClusterDependencies } from '../../cluster/dependencies.ts';
import type { Waiting } from '../../../decide/node/waits.ts';

/** What is to be removed, and with what leave. */
interface RemovalScope {
  /** The drains as the status of the maintenances records them. */
  readonly recorded: readonly NodeDrain[];
  readonly options: EndOptions;
  /** Asked right before the deletion. */
  readonly mayAct: () => Promise<boolean>;
}

/** The removals of this node's DaemonSet pods while its agent carries them out. */
export interface SelfRemovals {
  /**
   * Deletes a DaemonSet pod that the recorded targets select, after an ever longer time where its DaemonSet brings it back.
   * Throws API_UNREACHABLE and API_REFUSED.
   */
  remove(pod: Pod, scope: RemovalScope, signal: AbortSignal): Promise<Waiting>;
  forget(): void;
}

export function createSelfRemovals({ client, clock, log }: ClusterDependencies): SelfRemovals {
  const ungated = createUngatedDaemonSets(clock);
  return {
    remove: async (pod, { recorded, options, mayAct }, signal) => {
      const wait = (message: string): Waiting => ({
        wait: 'returning',
        what: keyOf(pod),
        on: 'nodemaint agent',
        message,
      });
      if (drainOf(pod, recorded) === undefined) return wait('its drain targets are not in the status yet');
      const now = clock.now();
      const { inMs, returns } = ungated.due(pod);
      if (inMs > 0) return { ...wait(`has come back ${returns} times, is deleted again`), expectedAt: now + inMs };
      if (await mayAct()) {
        await deletePod(client, pod, options, signal);
        ungated.removed(pod);
        log.info({ pod: keyOf(pod), returns }, 'deleted DaemonSet pod of own node');
      }
      return wait('is being deleted');
    },
    forget: () => {
      ungated.forget(() => false);
    },
  };
}
