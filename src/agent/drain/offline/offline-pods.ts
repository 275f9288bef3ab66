/**
 * The drain of this node's pods while no API server answers: over the container runtime, with the kubelet stopped, for a
 * kubelet that runs brings a pod back within a second (docs/internals/drain-without-a-controller-or-api-server.md has what was measured).
 */
import type { KnownPods, PodKnowledge } from './known-pods.ts';
import { endingWait, type Waiting } from '../../../decide/node/waits.ts';
import type { DrainPod } from '../../../decide/pod.ts';
import { NO_PODS, type OfflineView, type SeenPods } from '../../../decide/shutdown/offline-view.ts';
import { isFromManifest, type RuntimePod, runtimePodsOf } from '../../../decide/shutdown/runtime-pods.ts';
import { describeError, NodemaintError } from '../../../errors.ts';
import type { Clock } from '../../../host/clock.ts';
import { createSandboxStops, type StopEvents } from '../../../host/cri/pod-stops.ts';
import { type ContainerRuntime, isSilentWithoutPods } from '../../../host/cri/runtime.ts';
import type { KubeletUnit } from '../../../host/kubelet/unit.ts';
import { createLogOnce } from '../../../telemetry/log-once.ts';
import type { Log } from '../../../telemetry/log.ts';

/** The kubelet, which would start again what is stopped over the runtime. */
interface KubeletStop {
  /** Whether the kubelet is stopped; where it cannot be, a pod that is would only come back. */
  stop(signal: AbortSignal): Promise<boolean>;
  /** Why it cannot be stopped, as the last attempt found; undefined where it can. */
  refusal(): string | undefined;
  /** Whether stopping it has failed so often and for so long that it is not tried any more. */
  hasGivenUp(): boolean;
}

/** After this many failed attempts only static pods are drained: they need the kubelet running. */
const MAX_REFUSALS = 3;
/** But not before this time is over: systemd, or its bus, may be away for some seconds. */
const LONGEST_MS = 30_000;

/** Creates it; nothing is stopped before the first call. */
export function createKubeletStop(
  kubelet: Pick<KubeletUnit, 'stop'>,
  clock: Pick<Clock, 'monotonic'>,
  log: Pick<Log, 'error'>,
): KubeletStop {
  let refused: { readonly reason: string; readonly times: number; readonly since: number } | undefined;
  let hasGivenUp = false;

  const refuse = (error: unknown): void => {
    const now = clock.monotonic();
    const { times = 0, since = now } = refused ?? {};
    const reason = describeError(error);
    // The configuration, or the way in which the kubelet runs, does not change while the machine goes down.
    const isFinal = error instanceof NodemaintError && error.code === 'CONFIG_INVALID';
    hasGivenUp = times + 1 >= MAX_REFUSALS && (isFinal || now - since >= LONGEST_MS);
    if (hasGivenUp || reason !== refused?.reason) {
      log.error({ reason, givenUp: hasGivenUp }, 'cannot stop the kubelet for the drain');
    }
    refused = { reason, times: times + 1, since };
  };

  return {
    hasGivenUp: () => hasGivenUp,
    refusal: () => refused?.reason,
    stop: async (signal) => {
      if (hasGivenUp) return false;
      try {
        await kubelet.stop(signal);
        refused = undefined;
        return true;
      } catch (error) {
        signal.throwIfAborted();
        refuse(error);
        return false;
      }
    },
  };
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
  /** Reads the pods that run. What fails is no answer: then it says why they are not known. */
  observe(signal: AbortSignal): Promise<OfflineView>;
  /**
   * Lets pods end: SIGTERM, their grace period, all at the same time and in the background. The kubelet is stopped before
   * the first one, and before that, what it told of the pods is written. A pod that is ending already is shortened where a deadline has come closer.
   */
  stop(view: SeenPods, stop: OfflineStop, signal: AbortSignal): Promise<readonly Waiting[]>;
  /** Starts the kubelet again where it was stopped for a drain; returns whether it is no longer stopped by this agent. */
  giveBack(signal: AbortSignal): Promise<boolean>;
  /** Why nobody here can end pods but static ones: the kubelet cannot be stopped. Undefined where it can, as far as is known. */
  whyNone(): string | undefined;
}

interface OfflinePodsDependencies {
  readonly runtime: ContainerRuntime;
  /** Undefined where systemd is not asked for anything. */
  readonly kubelet: KubeletUnit | undefined;
  readonly knownPods: KnownPods;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when a pod has been stopped. */
  readonly onChange: () => void;
}

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

/** What is waited for where the kubelet runs on, so that no pod can be ended. */
function waitForKubelet(refusal: string | undefined): Waiting {
  const message = `cannot be stopped, so no pod ends: ${refusal ?? ''}`;
  return { wait: 'kubelet-stop', what: 'the kubelet', on: 'systemd', message };
}

/** Reads the pods from the runtime, with what is known of them where they are to end; what fails is no answer. */
async function readPods(
  { runtime, knownPods }: Pick<OfflinePodsDependencies, 'runtime' | 'knownPods'>,
  mayEnd: boolean,
  signal: AbortSignal,
): Promise<OfflineView> {
  try {
    const live = await runtime.livePods(signal);
    // The manifests of static pods tell more of them.
    const others = live.filter((sandbox) => !isFromManifest(sandbox)).map(({ podUid }) => podUid);
    const { pods: known, awaited }: PodKnowledge = mayEnd ? await knownPods.read(others, signal) : { pods: new Map() };
    if (awaited !== undefined) return { kind: 'unseen', reason: awaited };
    const all = runtimePodsOf(live, known);
    return { kind: 'seen', pods: all.filter((pod) => !isStatic(pod)), staticPods: all.filter(isStatic) };
  } catch (error) {
    signal.throwIfAborted();
    if (isSilentWithoutPods(error)) return NO_PODS;
    return { kind: 'unseen', reason: describeError(error) };
  }
}

/** Work in the background ends with `lifetime`. */
export function createOfflinePods(dependencies: OfflinePodsDependencies, lifetime: AbortSignal): OfflinePods {
  const { runtime, kubelet, knownPods, clock, log, onChange } = dependencies;
  const stops = createSandboxStops(runtime, clock, onChange);
  const kubeletStop = kubelet && createKubeletStop(kubelet, clock, log);
  const whyNone = (): string | undefined => {
    if (kubeletStop === undefined) return 'the key "lock" is "none"';
    return kubeletStop.hasGivenUp() ? kubeletStop.refusal() : undefined;
  };
  const warnOnce = createLogOnce((reason) => {
    log.warn({ reason }, 'cannot see the pods of the node, no more of them leave');
  });

  const stopPod = (pod: RuntimePod, graces: OfflineStop['graces']): Waiting => {
    const graceSec = Math.min(pod.graceSec, graces.get(pod.uid) ?? pod.graceSec);
    const event = stopEventOf(log, pod, graceSec);
    const begun = pod.sandboxIds.map((id) => stops.begin(id, graceSec, event, lifetime));
    const toldAt = Math.min(...begun.map(({ since }) => since));
    const endsAt = Math.max(...begun.map((each) => each.endsAt));
    return endingWait(nameOf(pod), 'container runtime', { toldAt, endsAt }, clock.now());
  };

  return {
    observe: async (signal) => {
      const view = await readPods(dependencies, whyNone() === undefined, signal);
      warnOnce(view.kind === 'unseen' ? view.reason : undefined);
      // Without a lock the machine does not wait for the agent: there may be no runtime at all.
      return view.kind === 'unseen' && kubelet === undefined ? NO_PODS : view;
    },
    whyNone,
    stop: async (view, { evicting, parked, graces, hasStuck }, signal) => {
      if (kubelet === undefined || kubeletStop === undefined || kubeletStop.hasGivenUp()) return [];
      await knownPods.save();
      if ((view.pods.length > 0 || hasStuck) && !(await kubeletStop.stop(signal))) {
        return kubeletStop.hasGivenUp() ? [] : [waitForKubelet(kubeletStop.refusal())];
      }
      const uids = new Set(evicting.map(({ uid }) => uid));
      // As long as the kubelet runs, it stops a static pod itself whose manifest is parked.
      const isOurs = await kubelet.isStopped();
      const statics = isOurs ? view.staticPods.filter((pod) => parked.has(nameOf(pod))) : [];
      return [...view.pods.filter(({ uid }) => uids.has(uid)), ...statics].map((pod) => stopPod(pod, graces));
    },
    giveBack: async (signal) => {
      try {
        return (await kubelet?.giveBack(signal)) ?? true;
      } catch (error) {
        signal.throwIfAborted();
        log.error({ reason: describeError(error) }, 'cannot start the kubelet again, trying again');
        return false;
      }
    },
  };
}
