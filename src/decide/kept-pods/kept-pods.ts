/** Pods that a drain leaves where they are, because the maintenance says so. */
import type { DrainPlanEntry, KeptPods, NodeMaintenance } from '../../api/node-maintenance.ts';
import { CARRIES_WAY, type DrainPod } from '../pod.ts';

type Keep = readonly KeptPods[];

const NOTHING: Keep = [];

/** Why a kept pod is still there, for people. */
const WHY_KEPT = 'kept by the maintenance (keepPods)';

/** The kinds of pods that the maintenance leaves alone. */
export function keptBy({ spec }: Pick<NodeMaintenance, 'spec'>): Keep {
  return spec.keepPods ?? NOTHING;
}

/** Whether these kinds have the pod. A pod of several kinds is kept where one of them is. */
export function isKept(keep: Keep, { podType, lossOf = [] }: Pick<DrainPod, 'podType' | 'lossOf'>): boolean {
  if (keep.length === 0) return false;
  return podType === 'Default' ? lossOf.some((kind) => keep.includes(kind)) : keep.includes(podType);
}

/** Whether all of these maintenances leave the pod alone; false where there is none of them. */
export function isKeptByAll(maintenances: readonly Pick<NodeMaintenance, 'spec'>[], pod: DrainPod): boolean {
  return maintenances.length > 0 && maintenances.every((each) => isKept(keptBy(each), pod));
}

/** Of these entries those of the types of pods that are not kept. */
export function withoutKept(entries: readonly DrainPlanEntry[], keep: Keep): readonly DrainPlanEntry[] {
  if (keep.length === 0) return entries;
  return entries.filter(({ podType }) => podType === 'Default' || !keep.includes(podType));
}

/** The pods of a node for a drain that keeps these kinds: those that leave, and those that it, or any drain, leaves alone. */
export function splitKept(
  pods: readonly DrainPod[],
  keep: Keep,
): { readonly pods: readonly DrainPod[]; readonly kept?: readonly DrainPod[] } {
  const kept = pods.filter((pod) => pod.stays === CARRIES_WAY || isKept(keep, pod));
  // Drains of a node that keep nothing have the same list of its pods.
  if (kept.length === 0) return { pods };
  const set = new Set(kept);
  const named = kept.map((pod) => (pod.stays === CARRIES_WAY ? pod : { ...pod, stays: WHY_KEPT }));
  return { pods: pods.filter((pod) => !set.has(pod)), kept: named };
}
