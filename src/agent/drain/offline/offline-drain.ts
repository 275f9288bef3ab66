/** The drain from the local record: no API server answers, or none is configured. */
import { isDeepStrictEqual } from 'node:util';
import type { DrainPlanEntry } from '../../../api/node-maintenance.ts';
import { effectiveDrainPlan } from '../../../decide/maintenance/drain-plan.ts';
import { decideOfflineDeadline } from '../../../decide/deadline/offline.ts';
import { resolveDrain } from '../../../decide/drain/resolution.ts';
import { drainEnd, manifestsRefused, nobodyEnds } from '../../../decide/staying-pod/left-pods.ts';
import { type Left, leftPod } from '../../../decide/staying-pod/staying-pods.ts';
import { NO_PODS, type SeenPods } from '../../../decide/shutdown/unseen-pods.ts';
import { isAlone } from '../../../decide/shutdown/completed-maintenance.ts';
import { podKey } from '../../../decide/static-pod/moves.ts';
import type { Clock } from '../../../host/clock.ts';
import type { Manifest } from '../../../static-pods/manifest/manifest.ts';
import type { StaticPods } from '../../static-pods/static-pods.ts';
import { drainPodsOf, leaveByTargets, type StaticPodView } from '../../static-pods/view.ts';
import { type Drainer, type DrainPass, EMPTY_PASS } from '../drainer.ts';
import type { OfflinePods } from './stop-pods.ts';
import type { RuntimeSilence } from '../runtime-silence.ts';

interface OfflineDrainDependencies {
  readonly pods: Pick<OfflinePods, 'observe' | 'stop' | 'whyNone'>;
  readonly staticPods: Pick<StaticPods, 'stuck'>;
  readonly silence: RuntimeSilence;
  /** As configured. */
  readonly drainPlan: readonly DrainPlanEntry[];
  readonly clock: Clock;
}

/** Why static pods stay whose manifests do not move. */
const STUCK = 'manifests cannot be moved, and the kubelet cannot be stopped';

/** The static pods that stay: those of manifests that do not move, and all of them where none may be moved. */
function staying(hopeless: readonly Manifest[], { refusal }: StaticPodView, seen: SeenPods): readonly Left[] {
  const stuck = hopeless.map((pod) => ({ what: podKey(pod), stays: STUCK }));
  if (refusal === undefined) return stuck;
  return seen.staticPods.map((pod) => leftPod({ ...pod, stays: manifestsRefused(refusal) }));
}

/** Whether the runtime did not tell which pods of parked manifests still run. */
function isUnseen({ parked, live }: StaticPodView): boolean {
  return live === undefined && parked.some(({ thisBoot }) => thisBoot);
}

/** Lets static pods leave by their manifests, and all others over the container runtime. */
export function createOfflineDrainer(dependencies: OfflineDrainDependencies): Drainer {
  const { pods, staticPods, silence, drainPlan, clock } = dependencies;
  const plan = effectiveDrainPlan(drainPlan);
  /** No pod leaves while none can be seen, and the drain is over only where that has lasted too long. */
  const unseen = (reason: string): DrainPass => {
    const { waiting, ...end } = silence.unseen(reason);
    return { ...EMPTY_PASS, ...end, drained: end.left !== undefined, waiting: [waiting] };
  };

  return {
    pass: async ({ record: { phase, offlineTargets }, view: all, saveTargets }, signal) => {
      if (phase.kind !== 'draining') return EMPTY_PASS;
      // Nothing here ends the other pods: static pods wait for them, and leave at the time that the deadline gives them.
      const whyNone = pods.whyNone();
      if (whyNone !== undefined && isAlone(phase)) return { ...EMPTY_PASS, drained: true };
      const stuck = staticPods.stuck();
      // Manifests that do not move, under a kubelet that cannot be stopped: these pods end with the machine.
      const hopeless = whyNone === undefined ? [] : all.inPlace.filter(({ file }) => stuck.has(file));
      const view = { ...all, inPlace: all.inPlace.filter((pod) => !hopeless.includes(pod)) };
      const look = await pods.observe(signal);
      if (look.kind === 'unseen' && whyNone === undefined) return unseen(look.reason);
      const seen = look.kind === 'seen' ? look : NO_PODS;
      if (isUnseen(view)) return unseen('the container runtime does not tell whether static pods have ended');
      silence.end();
      // Where nobody can end the others, static pods do not wait for them.
      const statics = drainPodsOf(view);
      const left = [...(whyNone === undefined ? seen.pods : []), ...statics];
      const deadline =
        phase.deadline && decideOfflineDeadline(phase.deadline, [...seen.pods, ...statics], drainPlan, clock.now());
      const { drainTargets, evicting, staying: later } = resolveDrain(plan, left, offlineTargets, deadline?.position);
      if (!isDeepStrictEqual(drainTargets, offlineTargets)) await saveTargets(drainTargets);
      const leave = leaveByTargets(view, drainTargets, phase);
      const parked = new Set(view.parked.filter(({ thisBoot }) => thisBoot).map(podKey));
      const hasStuck = view.inPlace.some((pod) => stuck.has(pod.file) && leave.has(podKey(pod)));
      const leaving = evicting.filter(({ uid }) => !later.has(uid));
      const stop = { evicting: leaving, parked, graces: deadline?.graces ?? new Map<string, number>(), hasStuck };
      const waiting = await pods.stop(seen, stop, signal);
      return {
        leave,
        targeted: new Set(leave.keys()),
        mirrors: undefined,
        ...drainEnd([...left.map(leftPod), ...staying(hopeless, view, seen), ...nobodyEnds(look, whyNone)]),
        waiting,
      };
    },
  };
}
