import { KUBELET_INTERCEPTOR } from '../api/names.ts';
import type { DrainPlanEntry } from '../api/node-maintenance.ts';
import { targetsCover } from '../decide/drain-plan.ts';
import type { NodeDrain } from '../decide/maintenance.ts';
import type { DrainPod } from '../decide/pod.ts';
import {
  decideStaticPods,
  type Leave,
  type ParkedPod,
  podKey,
  type StaticPodAction,
  type StaticPodDecision,
  type StaticPodProgress,
} from '../decide/static-pods.ts';
import { describeError, NodemaintError } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { ContainerRuntime } from '../host/cri.ts';
import { isTurnOf, type Turn } from '../kube/interceptor.ts';
import { readManifests } from '../static-pods/directory.ts';
import type { Manifest } from '../static-pods/manifest.ts';
import type { Mover, MoverPaths } from '../static-pods/mover.ts';
import type { Log } from '../telemetry/log.ts';
import type { Cluster } from './cluster.ts';
import { createSandboxStops } from './sandbox-stops.ts';

/** The static pods at one moment. */
export interface StaticPodView {
  readonly inPlace: readonly Manifest[];
  readonly parked: readonly (ParkedPod & Manifest)[];
  readonly live: ReadonlyMap<string, readonly string[]> | undefined;
}

/** Which pods are to leave, and which parked ones stay parked. */
export interface StaticPodIntent {
  readonly leave: ReadonlyMap<string, Leave>;
  readonly keepParked: (pod: ParkedPod) => boolean;
  /** Grace periods in seconds that a deadline made shorter, by file. */
  readonly graces?: ReadonlyMap<string, number>;
}

export interface StaticPodDependencies {
  readonly paths: MoverPaths;
  readonly nodeName: string;
  readonly bootId: string;
  readonly mover: Mover;
  readonly runtime: ContainerRuntime;
  readonly clock: Clock;
  readonly log: Log;
}

/** Observes the static pods and carries out what is decided about them. */
export interface StaticPods {
  observe(signal: AbortSignal): Promise<StaticPodView>;
  act(view: StaticPodView, intent: StaticPodIntent, signal: AbortSignal): Promise<StaticPodDecision>;
}

/** The pods of the view that still run or would run, as the drain plan sees them. */
export function drainPodsOf(view: StaticPodView): readonly DrainPod[] {
  const running = view.parked.filter((pod) => {
    return pod.thisBoot && (view.live === undefined || (view.live.get(podKey(pod)) ?? []).length > 0);
  });
  return [...view.inPlace, ...running].map((pod) => ({
    namespace: pod.namespace,
    name: pod.podName,
    uid: pod.file,
    podType: 'Static',
    priority: pod.priority,
    labels: pod.labels,
  }));
}

/** The pods that the targets of a local drain select. */
export function leaveByTargets(
  view: StaticPodView,
  targets: readonly DrainPlanEntry[],
  leave: Leave,
): Map<string, Leave> {
  const covered = view.inPlace.filter((pod) => targetsCover(targets, { ...pod, podType: 'Static' }));
  return new Map(covered.map((pod) => [podKey(pod), leave]));
}

/**
 * The pods that the cluster wants to leave (KEP-4212, "kubelet: Static Pods"): this agent is the active interceptor of
 * their EvictionRequest, and a maintenance of the node targets them.
 */
export function leaveByCluster(
  view: StaticPodView,
  cluster: Cluster,
  drains: readonly NodeDrain[],
): Map<string, Leave> {
  const manifests = new Map(view.inPlace.map((pod) => [podKey(pod), pod]));
  const leave = new Map<string, Leave>();
  for (const request of cluster.requests()) {
    if (!isTurnOf(request, KUBELET_INTERCEPTOR)) continue;
    const key = `${request.metadata.namespace}/${request.spec.target.pod.name}`;
    const pod = manifests.get(key);
    if (pod === undefined) continue;
    const drain = drains.find(({ drainTargets }) => targetsCover(drainTargets, { ...pod, podType: 'Static' }));
    if (drain !== undefined) leave.set(key, { maintenance: drain.maintenance, reason: drain.reason });
  }
  return leave;
}

/** Tells each EvictionRequest that this agent handles how far its pod is (KEP-4212, "kubelet: Static Pods"). */
export async function reportProgress(
  cluster: Cluster,
  progress: readonly StaticPodProgress[],
  reason: string,
  signal: AbortSignal,
): Promise<void> {
  for (const request of cluster.requests()) {
    if (!isTurnOf(request, KUBELET_INTERCEPTOR)) continue;
    const { name } = request.spec.target.pod;
    const pod = progress.find(({ key }) => key === `${request.metadata.namespace}/${name}`);
    if (pod === undefined) continue;
    const turn: Turn =
      pod.state === 'ended'
        ? {
            kind: 'completed',
            message: `${name} has ended; its manifest ${pod.file} is kept out until the node maintenance is complete.`,
          }
        : {
            kind: 'working',
            message: `${name} is terminating the pod due to node maintenance (${reason}).`,
            expectedFinishAt: pod.expectedFinishAt,
          };
    await cluster.report(request, turn, signal);
  }
}

/** Makes the loop's hands. */
export function createStaticPods(dependencies: StaticPodDependencies): StaticPods {
  const { paths, nodeName, bootId, mover, runtime, clock, log } = dependencies;
  const stops = createSandboxStops(runtime, { clock, log });
  let complained = '';

  /** The manifests of a directory; one that is gone holds none, as for the kubelet, and must not stop a drain. */
  const readPlace = async (directory: string, signal: AbortSignal): Promise<readonly Manifest[]> => {
    try {
      return (await readManifests(directory, nodeName, signal)).manifests;
    } catch (error) {
      if (!(error instanceof NodemaintError) || error.code !== 'STATIC_POD_DIRECTORY_MISSING') throw error;
      log.warn({ directory }, 'directory of manifests is gone');
      return [];
    }
  };

  const readLive = async (signal: AbortSignal): Promise<StaticPodView['live']> => {
    try {
      const live = new Map<string, string[]>();
      for (const sandbox of await runtime.livePods(signal)) {
        const key = podKey(sandbox);
        live.set(key, [...(live.get(key) ?? []), sandbox.id]);
      }
      complained = '';
      return live;
    } catch (error) {
      signal.throwIfAborted();
      const reason = describeError(error);
      if (reason !== complained) log.warn({ reason }, 'container runtime does not answer');
      complained = reason;
      return undefined;
    }
  };

  const perform = async (action: StaticPodAction, view: StaticPodView, signal: AbortSignal): Promise<void> => {
    const { file } = action;
    if (action.kind === 'park') {
      const sha256 = view.inPlace.find((pod) => pod.file === file)?.sha256 ?? '';
      const { maintenance, reason } = action.leave;
      await mover.park({ op: 'park', file, sha256, maintenance, at: clock.now(), bootId });
      log.info({ manifest: file, maintenance, reason }, 'parked manifest');
    } else if (action.kind === 'restore') {
      const outcome = await mover.restore(file);
      log.info({ manifest: file, outcome }, 'restored manifest');
    } else {
      stops.begin(file, action.sandboxId, action.graceSec, signal);
    }
  };

  return {
    observe: async (signal) => {
      const inPlace = await readPlace(paths.staticPodPath, signal);
      const parked = await readPlace(paths.parkedPath, signal);
      const steps = mover.parkSteps();
      const parkedPods = parked.map((pod) => {
        const step = steps.get(pod.file);
        return {
          ...pod,
          maintenance: step?.maintenance ?? '',
          parkedAt: step?.at ?? 0,
          thisBoot: step === undefined || step.bootId === bootId,
        };
      });
      return {
        inPlace,
        parked: parkedPods,
        live: parkedPods.some(({ thisBoot }) => thisBoot) ? await readLive(signal) : undefined,
      };
    },
    act: async (view, intent, signal) => {
      const decision = decideStaticPods({ now: clock.now(), ...view, ...intent });
      for (const action of decision.actions) {
        try {
          await perform(action, view, signal);
        } catch (error) {
          // One manifest that cannot be moved must not keep the others.
          signal.throwIfAborted();
          log.error(
            { manifest: action.file, action: action.kind, reason: describeError(error) },
            'static pod action failed',
          );
        }
      }
      return decision;
    },
  };
}
