import type { DrainPlanEntry } from '../../api/node-maintenance.ts';
import { decideOfflineDeadline, type OfflineDeadline } from '../../decide/deadline/offline.ts';
import type { RuntimePod } from '../../decide/shutdown/runtime-pods.ts';
import type { Phase } from '../../decide/shutdown/phase.ts';
import { type DeadlinePod, type StaticDeadline, decideStaticDeadline } from '../../decide/deadline/static-pods.ts';
import { isRunning, type StaticPodView } from '../static-pods/view.ts';

/** The static pods of the view whose containers run or may run, and those whose manifests are in place. */
function staticPodsLeft(view: StaticPodView): readonly Omit<DeadlinePod, 'podType'>[] {
  const running = view.parked.filter((pod) => isRunning(pod, view));
  return [
    ...view.inPlace.map(({ file, priority, labels, graceSec }) => ({ file, priority, labels, graceSec })),
    ...running,
  ];
}

/** What the deadline of the shutdown means for the static pods `now`; undefined where it has none. `drainPlan` is as configured. */
export function staticDeadlineOf(
  phase: Phase,
  view: StaticPodView,
  drainPlan: readonly DrainPlanEntry[],
  now: number,
): StaticDeadline | undefined {
  if (phase.kind !== 'draining' || phase.deadline === undefined) return undefined;
  return decideStaticDeadline(phase.deadline, staticPodsLeft(view), drainPlan, now);
}

/** What an offline drain is about: the pods that the runtime shows, the static pods, and the plan as configured. */
interface OfflineScope {
  readonly pods: readonly RuntimePod[];
  readonly view: StaticPodView;
  readonly drainPlan: readonly DrainPlanEntry[];
}

/** What the deadline of the shutdown means for a drain without an API server `now`; undefined where it has none. */
export function offlineDeadlineOf(
  { deadline }: Extract<Phase, { kind: 'draining' }>,
  { pods, view, drainPlan }: OfflineScope,
  now: number,
): OfflineDeadline | undefined {
  if (deadline === undefined) return undefined;
  const statics = staticPodsLeft(view).map((pod) => ({ ...pod, podType: 'Static' as const, uid: pod.file }));
  return decideOfflineDeadline(deadline, [...pods, ...statics], drainPlan, now);
}
