/**
 * The drain of this node's pods while no API server answers: over the container runtime, with the kubelet stopped, for a
 * kubelet that runs brings a pod back within a second (docs/internals/drain-without-a-controller-or-api-server.md has what was measured).
 */
import type { KnownPods, PodKnowledge } from './known-pods.ts';
import { endingWait, type Waiting } from '../../../decide/node/waits.ts';
import { type DrainPod, podName } from '../../../decide/pod.ts';
import { NO_PODS, type OfflineView, type SeenPods } from '../../../decide/shutdown/unseen-pods.ts';
import { isFromManifest, type RuntimePod, runtimePodsOf } from '../../../decide/shutdown/running-pods.ts';
import { describeError, NodemaintError } from '../../../errors.ts';
import type { Clock } from '../../../host/clock.ts';
import { SandboxStops } from '../../../host/cri/sandbox-stops.ts';
import { type ContainerRuntime, isSilentWithoutPods } from '../../../host/cri/runtime.ts';
import type { KubeletUnit } from '../../../host/kubelet/unit.ts';
import { createWarnOnce } from '../../../telemetry/log-once.ts';
import type { Log } from '../../../telemetry/log.ts';

/** After this many failed attempts only static pods are drained: they need the kubelet running. */
const MAX_REFUSALS = 3;
/** But not before this time is over: systemd, or its bus, may be away for some seconds. */
const LONGEST_MS = 30_000;

/** The kubelet, which would start again what is stopped over the runtime. */
export class KubeletStop {
  readonly #kubelet: Pick<KubeletUnit, 'stop'>;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #log: Pick<Log, 'error'>;
  #refused: { readonly reason: string; readonly times: number; readonly since: number } | undefined;
  #hasGivenUp = false;

  constructor(kubelet: Pick<KubeletUnit, 'stop'>, clock: Pick<Clock, 'monotonic'>, log: Pick<Log, 'error'>) {
    this.#kubelet = kubelet;
    this.#clock = clock;
    this.#log = log;
  }

  /** Whether the kubelet is stopped; where it cannot be, a pod that is would only come back. */
  async stop(signal: AbortSignal): Promise<boolean> {
    if (this.#hasGivenUp) return false;
    try {
      await this.#kubelet.stop(signal);
      this.#refused = undefined;
      return true;
    } catch (error) {
      signal.throwIfAborted();
      this.#refuse(error);
      return false;
    }
  }

  /** Why it cannot be stopped, as the last attempt found; undefined where it can. */
  refusal(): string | undefined {
    return this.#refused?.reason;
  }

  /** Whether stopping it has failed so often and for so long that it is not tried any more. */
  hasGivenUp(): boolean {
    return this.#hasGivenUp;
  }

  #refuse(error: unknown): void {
    const now = this.#clock.monotonic();
    const { times = 0, since = now } = this.#refused ?? {};
    const reason = describeError(error);
    // The configuration, or the way in which the kubelet runs, does not change while the machine goes down.
    const isFinal = error instanceof NodemaintError && error.code === 'CONFIG_INVALID';
    this.#hasGivenUp = times + 1 >= MAX_REFUSALS && (isFinal || now - since >= LONGEST_MS);
    if (this.#hasGivenUp || reason !== this.#refused?.reason) {
      this.#log.error({ reason, givenUp: this.#hasGivenUp }, 'cannot stop the kubelet for the drain');
    }
    this.#refused = { reason, times: times + 1, since };
  }
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

interface OfflinePodsDependencies {
  readonly runtime: ContainerRuntime;
  /** Undefined where systemd is not asked for anything. */
  readonly kubelet: KubeletUnit | undefined;
  readonly knownPods: Pick<KnownPods, 'read' | 'save'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when a pod has been stopped. */
  readonly onChange: () => void;
}

function isStatic({ podType }: RuntimePod): boolean {
  return podType === 'Static';
}

/** What is waited for where the kubelet runs on, so that no pod can be ended. */
function waitForKubelet(refusal: string | undefined): Waiting {
  const message = `cannot be stopped, so no pod ends: ${refusal ?? ''}`;
  return { wait: 'kubelet-stop', what: 'the kubelet', on: 'systemd', message };
}

/** Ends pods over the container runtime, with the kubelet stopped. */
export class OfflinePods {
  readonly #dependencies: OfflinePodsDependencies;
  readonly #lifetime: AbortSignal;
  readonly #stops;
  readonly #kubeletStop;
  readonly #warnOnce;

  /** Work in the background ends with `lifetime`. */
  constructor(dependencies: OfflinePodsDependencies, lifetime: AbortSignal) {
    const { runtime, kubelet, clock, log, onChange } = dependencies;
    this.#dependencies = dependencies;
    this.#lifetime = lifetime;
    this.#stops = new SandboxStops(runtime, dependencies, onChange);
    this.#kubeletStop = kubelet && new KubeletStop(kubelet, clock, log);
    this.#warnOnce = createWarnOnce(log, 'cannot see the pods of the node, no more of them leave');
  }

  /** Why nobody here can end pods but static ones: the kubelet cannot be stopped. Undefined where it can, as far as is known. */
  whyNone(): string | undefined {
    if (this.#kubeletStop === undefined) return 'the key "lock" is "none"';
    return this.#kubeletStop.hasGivenUp() ? this.#kubeletStop.refusal() : undefined;
  }

  /** Reads the pods that run. What fails is no answer: then it says why they are not known. */
  async observe(signal: AbortSignal): Promise<OfflineView> {
    const view = await this.#read(signal);
    this.#warnOnce(view.kind === 'unseen' ? view.reason : undefined);
    // Without a lock the machine does not wait for the agent: there may be no runtime at all.
    return view.kind === 'unseen' && this.#dependencies.kubelet === undefined ? NO_PODS : view;
  }

  /**
   * Lets pods end: SIGTERM, their grace period, all at the same time and in the background. The kubelet is stopped before
   * the first one, and before that, what it told of the pods is written. A pod that is ending already is shortened where a deadline has come closer.
   */
  async stop(
    view: SeenPods,
    { evicting, parked, graces, hasStuck }: OfflineStop,
    signal: AbortSignal,
  ): Promise<readonly Waiting[]> {
    const { kubelet, knownPods } = this.#dependencies;
    const kubeletStop = this.#kubeletStop;
    if (kubelet === undefined || kubeletStop === undefined || kubeletStop.hasGivenUp()) return [];
    await knownPods.save();
    if ((view.pods.length > 0 || hasStuck) && !(await kubeletStop.stop(signal))) {
      return kubeletStop.hasGivenUp() ? [] : [waitForKubelet(kubeletStop.refusal())];
    }
    const uids = new Set(evicting.map(({ uid }) => uid));
    // As long as the kubelet runs, it stops a static pod itself whose manifest is parked.
    const isOurs = await kubelet.isStopped();
    const statics = isOurs ? view.staticPods.filter((pod) => parked.has(podName(pod))) : [];
    return [...view.pods.filter(({ uid }) => uids.has(uid)), ...statics].map((pod) => this.#stop(pod, graces));
  }

  /** Starts the kubelet again where it was stopped for a drain; returns whether it is no longer stopped by this agent. */
  async giveBack(signal: AbortSignal): Promise<boolean> {
    const { kubelet, log } = this.#dependencies;
    try {
      return (await kubelet?.giveBack(signal)) ?? true;
    } catch (error) {
      signal.throwIfAborted();
      log.error({ reason: describeError(error) }, 'cannot start the kubelet again, trying again');
      return false;
    }
  }

  /** Reads the pods from the runtime, with what is known of them where they are to end; what fails is no answer. */
  async #read(signal: AbortSignal): Promise<OfflineView> {
    const { runtime, knownPods } = this.#dependencies;
    try {
      const live = await runtime.livePods(signal);
      // The manifests of static pods tell more of them.
      const others = live.filter((sandbox) => !isFromManifest(sandbox)).map(({ podUid }) => podUid);
      const mayEnd = this.whyNone() === undefined;
      const { pods: known, awaited }: PodKnowledge = mayEnd
        ? await knownPods.read(others, signal)
        : { pods: new Map() };
      if (awaited !== undefined) return { kind: 'unseen', reason: awaited };
      const all = runtimePodsOf(live, known);
      return { kind: 'seen', pods: all.filter((pod) => !isStatic(pod)), staticPods: all.filter(isStatic) };
    } catch (error) {
      signal.throwIfAborted();
      return isSilentWithoutPods(error) ? NO_PODS : { kind: 'unseen', reason: describeError(error) };
    }
  }

  #stop(pod: RuntimePod, graces: OfflineStop['graces']): Waiting {
    const graceSec = Math.min(pod.graceSec, graces.get(pod.uid) ?? pod.graceSec);
    const subject = { pod: podName(pod), podType: pod.podType };
    const begun = pod.sandboxIds.map((id) => this.#stops.begin(id, graceSec, subject, this.#lifetime));
    const toldAt = Math.min(...begun.map((each) => each.toldAt));
    const endsAt = Math.max(...begun.map((each) => each.endsAt));
    return endingWait(podName(pod), 'container runtime', { toldAt, endsAt }, this.#dependencies.clock.now());
  }
}
