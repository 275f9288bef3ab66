import type { RuntimePod } from './running-pods.ts';

/** The pods that run on the node, as its container runtime showed them at one moment. */
export interface SeenPods {
  readonly kind: 'seen';
  /** All but static pods, whose manifests tell more. */
  readonly pods: readonly RuntimePod[];
  readonly staticPods: readonly RuntimePod[];
}

/** What an offline drain knows of the pods of its node. Pods that were not seen may all still run. */
export type OfflineView = SeenPods | { readonly kind: 'unseen'; readonly reason: string };

/** Where none is known. */
export const NO_PODS: SeenPods = { kind: 'seen', pods: [], staticPods: [] };

/** A machine whose pods cannot be seen for this long waits no longer: nobody could end them in order. */
export const LONGEST_UNSEEN_MS = 120_000;

/** A container runtime that is started anew answers within this time. */
export const RESTARTED_MS = 10_000;

/** Why the machine waits no longer for pods that cannot be seen; undefined while it still waits. */
export function leftUnseen(reason: string, unseenMs: number): string | undefined {
  if (unseenMs < LONGEST_UNSEEN_MS) return undefined;
  const forSec = LONGEST_UNSEEN_MS / 1000;
  return `the pods could not be seen for ${forSec} s, so the agent ended no more of them (${reason})`;
}
