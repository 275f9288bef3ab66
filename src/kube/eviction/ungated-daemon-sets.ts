import type { Pod } from '../../api/pod.ts';
import { daemonSetOf } from '../../decide/daemon-set/gate.ts';
import {
  ungatedDaemonSets,
  forgetGated,
  forgetNodes,
  noteRemoval,
  type Removal,
  removalWaitMs,
  returnsOf,
} from '../../decide/daemon-set/ungated.ts';
import { targetNodeOf } from '../../decide/pod.ts';
import { timeOf } from '../../decide/time.ts';

/** Remembers which DaemonSets come back to drained nodes; in memory only, a restarted process finds it out again. */
export interface UngatedDaemonSets {
  /** Notes that the pod was removed because a drain targets it. */
  removed(pod: Pod): void;
  /** Notes that the pod waits at the gate, so that the gate works for its DaemonSet. */
  gated(pod: Pod): void;
  /** Forgets the nodes that are not drained any more. */
  forget(isDrained: (node: string) => boolean): void;
  /** In how many milliseconds the pod may be removed, and how many came before it; `now` in milliseconds since the epoch. */
  due(pod: Pod, now: number): { readonly inMs: number; readonly returns: number };
  /** The DaemonSets, NAMESPACE/NAME, whose pods come back to the node in spite of its drain. */
  on(node: string): readonly string[];
}

export function createUngatedDaemonSets(): UngatedDaemonSets {
  let removals: readonly Removal[] = [];
  return {
    removed: (pod) => {
      const [daemonSet, node, uid] = [daemonSetOf(pod), targetNodeOf(pod), pod.metadata.uid];
      if (daemonSet === undefined || node === undefined || uid === undefined) return;
      removals = noteRemoval(removals, { daemonSet, node, uid });
    },
    gated: (pod) => {
      removals = forgetGated(removals, daemonSetOf(pod) ?? '', targetNodeOf(pod) ?? '');
    },
    forget: (isDrained) => {
      removals = forgetNodes(removals, isDrained);
    },
    due: (pod, now) => {
      const returns = returnsOf(removals, daemonSetOf(pod) ?? '', targetNodeOf(pod) ?? '', pod.metadata.uid);
      return { inMs: removalWaitMs(timeOf(pod.metadata.creationTimestamp) ?? 0, returns, now), returns };
    },
    on: (node) => ungatedDaemonSets(removals, node),
  };
}
