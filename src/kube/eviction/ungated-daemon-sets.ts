import type { Pod } from '../../api/pod.ts';
import { daemonSetOf } from '../../decide/daemon-set/gate.ts';
import {
  ungatedDaemonSets,
  forgetGated,
  forgetNodes,
  noteRemoval,
  type Removal,
  removalWaitMs,
} from '../../decide/daemon-set/ungated.ts';
import { targetNodeOf } from '../../decide/pod.ts';
import type { Clock } from '../../host/clock.ts';

/** Remembers which DaemonSets come back to drained nodes; in memory only, a restarted process finds it out again. */
export interface UngatedDaemonSets {
  /** Notes that the pod was removed because a drain targets it. */
  removed(pod: Pod): void;
  /** Notes that the pod waits at the gate, so that the gate works for its DaemonSet. */
  gated(pod: Pod): void;
  /** Forgets the nodes that are not drained any more. */
  forget(isDrained: (node: string) => boolean): void;
  /** In how many milliseconds the pod may be removed, and how many came before it. */
  due(pod: Pod): { readonly inMs: number; readonly returns: number };
  /** The DaemonSets, NAMESPACE/NAME, whose pods come back to the node in spite of its drain. */
  on(node: string): readonly string[];
}

function removalOf(pod: Pod, at: number): Removal | undefined {
  const [daemonSet, node, uid] = [daemonSetOf(pod), targetNodeOf(pod), pod.metadata.uid];
  if (daemonSet === undefined || node === undefined || uid === undefined) return undefined;
  return { daemonSet, node, uid, at };
}

export function createUngatedDaemonSets(clock: Clock): UngatedDaemonSets {
  let removals: readonly Removal[] = [];
  return {
    removed: (pod) => {
      const removal = removalOf(pod, clock.monotonic());
      if (removal !== undefined) removals = noteRemoval(removals, removal);
    },
    gated: (pod) => {
      removals = forgetGated(removals, daemonSetOf(pod) ?? '', targetNodeOf(pod) ?? '');
    },
    forget: (isDrained) => {
      removals = forgetNodes(removals, isDrained);
    },
    due: (pod) => {
      const removal = removalOf(pod, clock.monotonic());
      return removal === undefined ? { inMs: 0, returns: 0 } : removalWaitMs(removals, removal);
    },
    on: (node) => ungatedDaemonSets(removals, node),
  };
}
