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

function removalOf(pod: Pod, at: number): Removal | undefined {
  const [daemonSet, node, uid] = [daemonSetOf(pod), targetNodeOf(pod), pod.metadata.uid];
  if (daemonSet === undefined || node === undefined || uid === undefined) return undefined;
  return { daemonSet, node, uid, at };
}

/** Our copies of a pod show its removal long before. */
export const SHOWN_MS = 30_000;

/** Remembers which DaemonSets come back to drained nodes; in memory only, a restarted process finds it out again. */
export class UngatedDaemonSets {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #removals: readonly Removal[] = [];

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Notes that the pod was removed because a drain targets it. */
  removed(pod: Pod): void {
    const removal = removalOf(pod, this.#clock.monotonic());
    if (removal !== undefined) this.#removals = noteRemoval(this.#removals, removal);
  }

  /** Whether the pod was removed so lately that a copy of it may not show that yet. */
  hasRemoved({ metadata }: Pod): boolean {
    return this.#removals.some(({ uid, at }) => uid === metadata.uid && this.#clock.monotonic() < at + SHOWN_MS);
  }

  /** Notes that the pod waits at the gate, so that the gate works for its DaemonSet. */
  gated(pod: Pod): void {
    this.#removals = forgetGated(this.#removals, daemonSetOf(pod) ?? '', targetNodeOf(pod) ?? '');
  }

  /** Forgets the nodes that are not drained any more. */
  forget(isDrained: (node: string) => boolean): void {
    this.#removals = forgetNodes(this.#removals, isDrained);
  }

  /** In how many milliseconds the pod may be removed, and how many came before it. */
  due(pod: Pod): { readonly inMs: number; readonly returns: number } {
    const removal = removalOf(pod, this.#clock.monotonic());
    return removal === undefined ? { inMs: 0, returns: 0 } : removalWaitMs(this.#removals, removal);
  }

  /** The DaemonSets, NAMESPACE/NAME, whose pods come back to the node in spite of its drain. */
  on(node: string): readonly string[] {
    return ungatedDaemonSets(this.#removals, node);
  }
}
