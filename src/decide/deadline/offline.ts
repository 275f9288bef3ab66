import type { DrainPlanEntry } from '../../api/node-maintenance.ts';
import { type Deadline, dueTiers, type GracefulPod, graceSecFor } from './tiers.ts';
import { effectiveDrainPlan } from '../maintenance/drain-plan.ts';

/** What a deadline means for a drain without an API server. */
interface OfflineDeadline {
  /** How many entries of the effective plan are reached, whatever is still there. */
  readonly position: number;
  /** Grace periods in seconds, by UID, of pods that are stopped now. */
  readonly graces: ReadonlyMap<string, number>;
}

/** Decides it at a moment, in milliseconds since the epoch, for the pods that are left. `plan` is as configured. */
export function decideOfflineDeadline(
  deadline: Deadline,
  pods: readonly (GracefulPod & { readonly uid: string })[],
  plan: readonly DrainPlanEntry[],
  now: number,
): OfflineDeadline {
  const { position } = dueTiers(effectiveDrainPlan(plan), pods, deadline, now);
  return { position, graces: new Map(pods.map((pod) => [pod.uid, graceSecFor(pod, { pods, plan }, deadline, now)])) };
}
