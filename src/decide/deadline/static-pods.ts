import type { DrainPlanEntry } from '../../api/node-maintenance.ts';
import { type Deadline, type GracefulPod, graceSecFor, tierDues, tiersOf } from './tiers.ts';
import { effectiveDrainPlan } from '../maintenance/drain-plan.ts';

/** A static pod whose manifest is in place, or parked while its containers still run. */
export type DeadlinePod = GracefulPod & {
  /** The file of its manifest. */
  readonly uid: string;
  /** Milliseconds since the epoch; absent for one in place. */
  readonly parkedAt?: number;
};

/** What a deadline means for the static pods of a node. */
interface StaticDeadline {
  /** Grace periods in seconds, by file. */
  readonly graces: ReadonlyMap<string, number>;
  /** Static pods that leave now whatever is still there before them: there is no more time to wait for others. */
  readonly due: readonly DrainPlanEntry[];
}

/** Decides it at a moment, in milliseconds since the epoch. `plan` is as configured. */
export function decideStaticDeadline(
  deadline: Deadline,
  statics: readonly DeadlinePod[],
  plan: readonly DrainPlanEntry[],
  now: number,
): StaticDeadline {
  // As of its parking: what was given to a pod then is not taken away again while the time runs. Where the kubelet is down or
  // stopped, a pod ends in place, before its manifest is moved.
  const graceOf = (pod: DeadlinePod): number =>
    graceSecFor(pod, { pods: statics, plan }, deadline, pod.parkedAt ?? now);
  const graces = new Map(statics.map((pod) => [pod.uid, graceOf(pod)]));
  const tiers = tiersOf(effectiveDrainPlan(plan), statics);
  const dues = tierDues(
    deadline,
    tiers.map(({ tier }) => tier),
  );
  const due = tiers.filter((_, index) => now >= (dues[index] ?? Infinity));
  return { graces, due: due.map(({ entry }) => entry) };
}
