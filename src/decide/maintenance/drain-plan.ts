import type { LabelSelector } from '../../api/meta.ts';
import type { DrainPlanEntry, NodeMaintenance, PodType } from '../../api/node-maintenance.ts';
import { keptBy, withoutKept } from '../kept-pods/kept-pods.ts';
import type { DrainPod } from '../pod.ts';
import { labelSelectorMatches } from '../selector.ts';

/** The order in which pod types leave a node (KEP-4212, DrainPlan). */
export const POD_TYPES: readonly PodType[] = ['Default', 'DaemonSet', 'Static'];

/** User-defined maximum, system-cluster-critical, system-node-critical and the largest int32 (KEP-4212, DrainPlan). */
const DEFAULT_PRIORITIES = [1_000_000_000, 2_000_000_000, 2_000_001_000, 2_147_483_647] as const;

/** The twelve entries that every drain plan contains (KEP-4212, "Pod Selection"). */
export const DEFAULT_DRAIN_PLAN: readonly DrainPlanEntry[] = POD_TYPES.flatMap((podType) =>
  DEFAULT_PRIORITIES.map((podPriority) => ({ podType, podPriority })),
);

/** One text for selectors that mean the same, so that they can be compared. */
export function selectorKey(selector: LabelSelector | undefined): string {
  if (selector === undefined) return '';
  const labels = Object.entries(selector.matchLabels ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([labels, selector.matchExpressions ?? []]);
}

function compareEntries(a: DrainPlanEntry, b: DrainPlanEntry): number {
  return (
    POD_TYPES.indexOf(a.podType) - POD_TYPES.indexOf(b.podType) ||
    a.podPriority - b.podPriority ||
    Number(a.podSelector === undefined) - Number(b.podSelector === undefined)
  );
}

/**
 * The plan that is executed: the user's entries with the default ones injected, each once, in the order of
 * KEP-4212: Default, DaemonSet, Static; rising priority; concrete selectors first.
 */
export function effectiveDrainPlan(plan: readonly DrainPlanEntry[]): readonly DrainPlanEntry[] {
  const byKey = new Map<string, DrainPlanEntry>();
  for (const entry of [...plan, ...DEFAULT_DRAIN_PLAN]) {
    byKey.set(`${entry.podType} ${entry.podPriority} ${selectorKey(entry.podSelector)}`, entry);
  }
  return [...byKey.values()].toSorted(compareEntries);
}

/** The plan by which the maintenance drains: with the default entries, and without those of the types that it keeps. */
export function planOf(maintenance: Pick<NodeMaintenance, 'spec'>): readonly DrainPlanEntry[] {
  return withoutKept(effectiveDrainPlan(maintenance.spec.drainPlan ?? []), keptBy(maintenance));
}

/**
 * Converts the kubelet's shutdownGracePeriodByPodPriority to plan entries: the kubelet takes a pod into the highest
 * group at or below its priority, the plan takes every pod at or below an entry's, so each entry ends where the next
 * group begins.
 */
export function planFromKubeletPriorities(priorities: readonly number[]): readonly DrainPlanEntry[] {
  const sorted = [...new Set(priorities)].toSorted((a, b) => a - b);
  const ceilings = sorted.slice(1).map((priority) => priority - 1);
  return POD_TYPES.flatMap((podType) => ceilings.map((podPriority) => ({ podType, podPriority })));
}

/** Whether a plan entry or drain target selects the pod (KEP-4212, DrainPlanEntry). */
export function entryCovers(entry: DrainPlanEntry, pod: Pick<DrainPod, 'podType' | 'priority' | 'labels'>): boolean {
  if (entry.podType !== pod.podType || pod.priority > entry.podPriority) return false;
  return entry.podSelector === undefined || labelSelectorMatches(entry.podSelector, pod.labels);
}

/** Whether any of the drain targets selects the pod. */
export function targetsCover(
  targets: readonly DrainPlanEntry[],
  pod: Pick<DrainPod, 'podType' | 'priority' | 'labels'>,
): boolean {
  return targets.some((target) => entryCovers(target, pod));
}

/** Whether a drain has come to the static pods, which leave when all other pods have ended. */
export function reachesStaticPods(targets: readonly DrainPlanEntry[]): boolean {
  return targets.some(({ podType }) => podType === 'Static');
}

/** A plan entry or target as a person reads it, for example "DaemonSet ≤ 2000000000". */
export function describeEntry(entry: DrainPlanEntry): string {
  const selector = entry.podSelector === undefined ? '' : ` (${JSON.stringify(entry.podSelector)})`;
  return `${entry.podType} ≤ ${entry.podPriority}${selector}`;
}
