import { DEADLINE_ANNOTATION } from '../../api/names.ts';
import { decideOfflineDeadline, type OfflineDeadline } from '../../decide/deadline/offline.ts';
import type { RuntimePod } from '../../decide/shutdown/runtime-pods.ts';
import type { Phase } from '../../decide/shutdown/phase.ts';
import { type DeadlinePod, type StaticDeadline, decideStaticDeadline } from '../../decide/deadline/static-pods.ts';
import { podKey } from '../../decide/static-pod/moves.ts';
import { preciseRfc3339 } from '../../decide/time.ts';
import { describeError } from '../../errors.ts';
import type { DrainContext } from './context.ts';
import type { StaticPodView } from '../static-pods/view.ts';

/** Writes an earlier deadline to the NodeMaintenance of the shutdown, which was made with the first one. */
export async function keepDeadline(context: DrainContext, phase: Phase, signal: AbortSignal): Promise<void> {
  if (phase.kind !== 'draining' || phase.deadline === undefined) return;
  if (context.cluster?.state(phase.maintenance) !== 'open') return;
  const known = context.cluster.maintenance(phase.maintenance);
  if (known === undefined || known.metadata.annotations?.[DEADLINE_ANNOTATION] === preciseRfc3339(phase.deadline.at))
    return;
  try {
    await context.cluster.setDeadline(known, phase.deadline, signal);
  } catch (error) {
    signal.throwIfAborted();
    context.log.warn({ maintenance: phase.maintenance, reason: describeError(error) }, 'cannot tell the deadline yet');
  }
}

/** The static pods of the view whose containers run, and those whose manifests are in place. */
function staticPodsLeft(view: StaticPodView): readonly Omit<DeadlinePod, 'podType'>[] {
  const running = view.parked.filter((pod) => pod.thisBoot && (view.live?.get(podKey(pod)) ?? []).length > 0);
  return [
    ...view.inPlace.map(({ file, priority, labels, graceSec }) => ({ file, priority, labels, graceSec })),
    ...running,
  ];
}

/** What the deadline of the shutdown means for the static pods; undefined where it has none. */
export function staticDeadlineOf(context: DrainContext, phase: Phase, view: StaticPodView): StaticDeadline | undefined {
  if (phase.kind !== 'draining' || phase.deadline === undefined) return undefined;
  return decideStaticDeadline(phase.deadline, staticPodsLeft(view), context.config.drainPlan, context.clock.now());
}

/** What it means for a drain without an API server; undefined where it has none. */
export function offlineDeadlineOf(
  context: DrainContext,
  phase: Extract<Phase, { kind: 'draining' }>,
  pods: readonly RuntimePod[],
  view: StaticPodView,
): OfflineDeadline | undefined {
  if (phase.deadline === undefined) return undefined;
  const statics = staticPodsLeft(view).map((pod) => ({ ...pod, podType: 'Static' as const, uid: pod.file }));
  return decideOfflineDeadline(phase.deadline, [...pods, ...statics], context.config.drainPlan, context.clock.now());
}
