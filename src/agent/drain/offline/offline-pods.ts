/**
 * The drain of this node's pods while no API server answers: over the container runtime, with the kubelet stopped, for a
 * kubelet that runs brings a pod back within a second (docs/internals/drain-without-a-controller-or-api-server.md has what was measured).
 */
import { type RuntimePod, runtimePodsOf } from '../../../decide/shutdown/runtime-pods.ts';
import type { DrainPod } from '../../../decide/pod.ts';
import { describeError } from '../../../errors.ts';
import type { Clock } from '../../../host/clock.ts';
import type { ContainerRuntime } from '../../../host/cri/runtime.ts';
import type { KubeletUnit } from '../../../host/kubelet/unit.ts';
import type { Log } from '../../../telemetry/log.ts';
import type { KnownPods } from './known-pods.ts';
import { createSandboxStops, type StopEvent } from '../../../host/cri/pod-stops.ts';
import type { Waiting } from '../../waiting.ts';

/** What the runtime shows; not `seen` where it does not answer. */
export interface OfflineView {
  readonly seen: boolean;
  /** All but static pods, whose manifests tell more. */
  readonly pods: readonly RuntimePod[];
  readonly staticPods: readonly RuntimePod[];
}

/** Which pods end. */
export interface OfflineStop {
  readonly evicting: readonly DrainPod[];
  /** Static pods whose manifests are parked, as NAMESPACE/NAME. */
  readonly parked: ReadonlySet<string>;
  /** Grace periods in seconds that a deadline made shorter, by UID. */
  readonly graces: ReadonlyMap<string, number>;
  /** Whether the kubelet is to be stopped although only static pods are left: manifests that cannot be moved. */
  readonly hasStuck: boolean;
}

/** The hands of a local drain beside the mover of manifests. */
export interface OfflinePods {
  /** Looks at the pods that run. */
  observe(signal: AbortSignal): Promise<OfflineView>;
  /**
   * Lets pods end: SIGTERM, their grace period, all at the same time and in the background. The kubelet is stopped before
   * the first one. A pod that is ending already is shortened where a deadline has come closer.
   */
  stop(view: OfflineView, stop: OfflineStop, signal: AbortSignal): Promise<readonly Waiting[]>;
  /** Starts the kubelet again where it was stopped for a drain; returns whether it is not stopped by us any more. */
  giveBack(signal: AbortSignal): Promise<boolean>;
  /** Whether the kubelet could not be stopped so often that it is not tried any more. */
  hasGivenUp(): boolean;
}

export interface OfflinePodsDependencies {
  readonly runtime: ContainerRuntime;
  readonly kubelet: KubeletUnit;
  readonly knownPods: KnownPods;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when a pod has been stopped. */
  readonly onChange: () => void;
}

/** So long the runtime may be away, for instance while it restarts, before pods that nobody can see stop to count. */
const RUNTIME_AWAY_MS = 120_000;
/** So often a kubelet may refuse to stop before the drain goes on with static pods alone, which need it. */
const MAX_REFUSALS = 3;
const NOTHING: OfflineView = { seen: true, pods: [], staticPods: [] };

/** Makes the hands, whose work in the background ends with `lifetime`. */
export function createOfflinePods(dependencies: OfflinePodsDependencies, lifetime: AbortSignal): OfflinePods {
  const { runtime, kubelet, knownPods, clock, log, onChange } = dependencies;
  const stops = createSandboxStops(runtime, clock, onChange);
  let awaySince: number | undefined;
  let refusals = 0;

  /** Whether the kubelet is out of the way; where it cannot be stopped, a pod that is would only come back. */
  const withoutKubelet = async (signal: AbortSignal): Promise<boolean> => {
    if (refusals >= MAX_REFUSALS) return false;
    try {
      await kubelet.stop(signal);
      return true;
    } catch (error) {
      signal.throwIfAborted();
      refusals += 1;
      const reason = describeError(error);
      log.error({ reason, givenUp: refusals >= MAX_REFUSALS }, 'cannot stop the kubelet for the drain');
      return false;
    }
  };

  const newsOf = (pod: RuntimePod, graceSec: number): StopEvent => {
    const name = `${pod.namespace}/${pod.name}`;
    return {
      begun: () => {
        log.info({ pod: name, podType: pod.podType, graceSec }, 'stopping pod over the container runtime');
      },
      failed: (reason) => {
        log.warn({ pod: name, reason }, 'pod not stopped, trying again');
      },
    };
  };

  return {
    observe: async (signal) => {
      if (refusals >= MAX_REFUSALS) return NOTHING;
      try {
        const all = runtimePodsOf(await runtime.livePods(signal), await knownPods.read());
        awaySince = undefined;
        const isStatic = ({ podType }: RuntimePod): boolean => podType === 'Static';
        return { seen: true, pods: all.filter((pod) => !isStatic(pod)), staticPods: all.filter(isStatic) };
      } catch (error) {
        signal.throwIfAborted();
        if (awaySince === undefined) log.warn({ reason: describeError(error) }, 'cannot see the pods of the node');
        awaySince ??= clock.monotonic();
        return { ...NOTHING, seen: clock.monotonic() - awaySince >= RUNTIME_AWAY_MS };
      }
    },
    hasGivenUp: () => refusals >= MAX_REFUSALS,
    stop: async (view, { evicting, parked, graces, hasStuck }, signal) => {
      if ((view.pods.length > 0 || hasStuck) && !(await withoutKubelet(signal))) return [];
      const stopped = await kubelet.isStopped();
      const uids = new Set(evicting.map(({ uid }) => uid));
      const waiting: Waiting[] = [];
      // A static pod whose manifest is parked is the kubelet's to stop, as long as there is one.
      const statics = stopped
        ? view.staticPods.filter(({ namespace, name }) => parked.has(`${namespace}/${name}`))
        : [];
      for (const pod of [...view.pods.filter(({ uid }) => uids.has(uid)), ...statics]) {
        const graceSec = Math.min(pod.graceSec, graces.get(pod.uid) ?? pod.graceSec);
        const news = newsOf(pod, graceSec);
        const told = pod.sandboxIds.map((id) => stops.begin(id, graceSec, news, lifetime));
        waiting.push({
          what: `${pod.namespace}/${pod.name}`,
          on: 'container runtime',
          message: 'is terminating',
          since: Math.min(...told.map(({ since }) => since)),
          expectedAt: Math.max(...told.map(({ endsAt }) => endsAt)),
        });
      }
      return waiting;
    },
    giveBack: async (signal) => {
      try {
        return await kubelet.giveBack(signal);
      } catch (error) {
        signal.throwIfAborted();
        log.error({ reason: describeError(error) }, 'cannot start the kubelet again, trying again');
        return false;
      }
    },
  };
}
