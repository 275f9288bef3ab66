/** The drain from the local record: no API server answers, or none is configured. */
import { isDeepStrictEqual } from 'node:util';
import type { DrainPlanEntry } from '../../../api/node-maintenance.ts';
import { effectiveDrainPlan } from '../../../decide/drain/plan.ts';
import { resolveDrain } from '../../../decide/drain/resolution.ts';
import { podKey } from '../../../decide/static-pod/moves.ts';
import type { Clock } from '../../../host/clock.ts';
import type { Manifest } from '../../../static-pods/manifest/manifest.ts';
import type { StaticPods } from '../../static-pods/static-pods.ts';
import { drainPodsOf, leaveByTargets, type StaticPodView } from '../../static-pods/view.ts';
import { offlineDeadlineOf } from '../deadline.ts';
import { type Drainer, EMPTY_PASS } from '../drainer.ts';
import type { OfflinePods } from './offline-pods.ts';

export interface OfflineDrainDependencies {
  /** Absent where the kubelet cannot be stopped: then only static pods leave. */
  readonly pods: Pick<OfflinePods, 'observe' | 'stop' | 'hasGivenUp'> | undefined;
  readonly staticPods: Pick<StaticPods, 'stuck'>;
  /** As configured. */
  readonly drainPlan: readonly DrainPlanEntry[];
  readonly clock: Clock;
}

function describeLeft(pods: readonly Manifest[]): string {
  const names = pods.map((pod) => podKey(pod)).join(', ');
  return `the manifests of ${names} cannot be moved, and the kubelet cannot be stopped`;
}

/** Lets static pods leave by their manifests, and all others over the container runtime. */
export function createOfflineDrainer({ pods, staticPods, drainPlan, clock }: OfflineDrainDependencies): Drainer {
  /** Manifests that do not move, under a kubelet that cannot be stopped: these pods end with the machine. */
  const hopelessIn = (view: StaticPodView, stuck: ReadonlySet<string>): readonly Manifest[] =>
    pods === undefined || pods.hasGivenUp() ? view.inPlace.filter(({ file }) => stuck.has(file)) : [];
  const plan = effectiveDrainPlan(drainPlan);

  return {
    pass: async ({ record: { phase, offlineTargets }, view: all, saveTargets }, signal) => {
      if (phase.kind !== 'draining') return EMPTY_PASS;
      const stuck = staticPods.stuck();
      const hopeless = hopelessIn(all, stuck);
      const view = { ...all, inPlace: all.inPlace.filter((pod) => !hopeless.includes(pod)) };
      const seen = await pods?.observe(signal);
      const left = [...(seen?.pods ?? []), ...drainPodsOf(view)];
      const deadline = offlineDeadlineOf(phase, { pods: seen?.pods ?? [], view, drainPlan }, clock.now());
      const { drainTargets, evicting, drained } = resolveDrain(plan, left, offlineTargets, deadline?.position);
      if (!isDeepStrictEqual(drainTargets, offlineTargets)) await saveTargets(drainTargets);
      const leave = leaveByTargets(view, drainTargets, phase);
      const parked = new Set(view.parked.filter(({ thisBoot }) => thisBoot).map(podKey));
      const hasStuck = view.inPlace.some((pod) => stuck.has(pod.file) && leave.has(podKey(pod)));
      const stop = { evicting, parked, graces: deadline?.graces ?? new Map<string, number>(), hasStuck };
      const waiting = seen === undefined ? [] : await pods?.stop(seen, stop, signal);
      return {
        leave,
        targeted: new Set(leave.keys()),
        mirrors: undefined,
        drained: drained && seen?.seen !== false,
        ...(hopeless.length === 0 ? {} : { left: describeLeft(hopeless) }),
        waiting: waiting ?? [],
      };
    },
    stop: () => undefined,
  };
}
