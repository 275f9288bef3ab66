/**
 * The drain of this node's pods while no API server answers: over the container runtime, with the kubelet stopped, for a
 * kubelet that runs brings a pod back within a second (docs/internals/drain-without-a-controller-or-api-server.md has what was measured).
 */
import { isFromManifest, type RuntimePod, runtimePodsOf } from '../../../decide/shutdown/runtime-pods.ts';
import type { DrainPod } from '../../../decide/pod.ts';
import { describeError } from '../../../errors.ts';
import type { Clock } from '../../../host/clock.ts';
import type { ContainerRuntime } from '../../../host/cri/runtime.ts';
import type { KubeletUnit } from '../../../host/kubelet/unit.ts';
import type { Log } from '../../../telemetry/log.ts';
import type { KnownPods } from './known-pods.ts';
import { createSandboxStops, type StopEvents } from '../../../host/cri/pod-stops.ts';
import type { Waiting } from '../../waiting.ts';

/** The pods that the runtime shows; `seen` is false where it does not answer. */
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

/** Ends pods over the container runtime, with the kubelet stopped. */
export interface OfflinePods {
  /** Reads the pods that run. */
  observe(signal: AbortSignal): Promise<OfflineView>;
  /**
   * Lets pods end: SIGTERM, their grace period, all at the same time and in the background. The kubelet is stopped before
   * the first one. A pod that is ending already is shortened where a deadline has come closer.
   */
  stop(view: OfflineView, stop: OfflineStop, signal: AbortSignal): Promise<readonly Waiting[]>;
  /** Starts the kubelet again where it was stopped for a drain; returns whether it is no longer stopped by this agent. */
  giveBack(signal: AbortSignal): Promise<boolean>;
  /** Whether stopping the kubelet failed so often that it is not tried any more. */
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

/** If the runtime does not answer for this long, pods that cannot be seen no longer keep the drain from its end. */
const RUNTIME_AWAY_MS = 120_000;
/** After this many failed attempts to stop the kubelet only static pods are drained: they need it running. */
const MAX_REFUSALS = 3;
const NOTHING: OfflineView = { seen: true, pods: [], staticPods: [] };

function nameOf({ namespace, name }: RuntimePod): string {
  return `${namespace}/${name}`;
}

function isStatic({ podType }: RuntimePod): boolean {
  return podType === 'Static';
}

function stopEventOf(log: Log, pod: RuntimePod, graceSec: number): StopEvents {
  return {
    begun: () => {
      log.info({ pod: nameOf(pod), podType: pod.podType, graceSec }, 'stopping pod over the container runtime');
    },
    failed: (reason) => {
      log.warn({ pod: nameOf(pod), reason }, 'pod not stopped, trying again');
    },
  };
}

/** The kubelet, which would start again what is stopped over the runtime. */
interface KubeletStop {
  /** Whether the kubelet is stopped; where it cannot be, a pod that is would only come back. */
  stop(signal: AbortSignal): Promise<boolean>;
  hasGivenUp(): boolean;
}

function createKubeletStop(kubelet: KubeletUnit, log: Log): KubeletStop {
  let refusals = 0;
  const hasGivenUp = (): boolean => refusals >= MAX_REFUSALS;
  return {
    hasGivenUp,
    stop: async (signal) => {
      if (hasGivenUp()) return false;
      try {
        await kubelet.stop(signal);
        return true;
      } catch (error) {
        signal.throwIfAborted();
        refusals += 1;
        log.error({ reason: describeError(error), givenUp: hasGivenUp() }, 'cannot stop the kubelet for the drain');
        return false;
      }
    },
  };
}

/** Work in the background ends with `lifetime`. */
export function createOfflinePods(dependencies: OfflinePodsDependencies, lifetime: AbortSignal): OfflinePods {
  const { runtime, kubelet, knownPods, clock, log, onChange } = dependencies;
  const stops = createSandboxStops(runtime, clock, onChange);
  const kubeletStop = createKubeletStop(kubelet, log);
  let awaySince: number | undefined;

  const stopPod = (pod: RuntimePod, graces: OfflineStop['graces']): Waiting => {
    const graceSec = Math.min(pod.graceSec, graces.get(pod.uid) ?? pod.graceSec);
    const event = stopEventOf(log, pod, graceSec);
    const begun = pod.sandboxIds.map((id) => stops.begin(id, graceSec, event, lifetime));
    return {
      what: nameOf(pod),
      on: 'container runtime',
      message: 'is terminating',
      since: Math.min(...begun.map(({ since }) => since)),
      expectedAt: Math.max(...begun.map(({ endsAt }) => endsAt)),
    };
  };

  return {
    observe: async (signal) => {
      if (kubeletStop.hasGivenUp()) return NOTHING;
      try {
        const live = await runtime.livePods(signal);
        // The manifests of static pods tell more of them.
        const others = live.filter((sandbox) => !isFromManifest(sandbox)).map(({ podUid }) => podUid);
        const all = runtimePodsOf(live, await knownPods.read(others, signal));
        awaySince = undefined;
        return { seen: true, pods: all.filter((pod) => !isStatic(pod)), staticPods: all.filter(isStatic) };
      } catch (error) {
        signal.throwIfAborted();
        if (awaySince === undefined) log.warn({ reason: describeError(error) }, 'cannot see the pods of the node');
        awaySince ??= clock.monotonic();
        return { ...NOTHING, seen: clock.monotonic() - awaySince >= RUNTIME_AWAY_MS };
      }
    },
    hasGivenUp: () => kubeletStop.hasGivenUp(),
    stop: async (view, { evicting, parked, graces, hasStuck }, signal) => {
      if ((view.pods.length > 0 || hasStuck) && !(await kubeletStop.stop(signal))) return [];
      const uids = new Set(evicting.map(({ uid }) => uid));
      // As long as the kubelet runs, it stops a static pod itself whose manifest is parked.
      const isOurs = await kubelet.isStopped();
      const statics = isOurs ? view.staticPods.filter((pod) => parked.has(nameOf(pod))) : [];
      return [...view.pods.filter(({ uid }) => uids.has(uid)), ...statics].map((pod) => stopPod(pod, graces));
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
