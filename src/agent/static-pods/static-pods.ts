import { readLive, readStaticPods, type StaticPodReader, type StaticPodStore, type StaticPodView } from './view.ts';
import {
  decideStaticPods,
  type Leave,
  type ParkedPod,
  podKey,
  type StaticPodAction,
  type StaticPodDecision,
} from '../../decide/static-pod/moves.ts';
import type { MemberHold } from '../../decide/static-pod/control-plane-waits.ts';
import { describeError } from '../../errors.ts';
import { asOfNow, type Clock, type Moment, momentOf } from '../../host/clock.ts';
import { SandboxStops } from '../../host/cri/sandbox-stops.ts';
import type { ContainerRuntime } from '../../host/cri/runtime.ts';
import type { KubeletUnit } from '../../host/kubelet/unit.ts';
import type { ParkStep } from '../../static-pods/journal/journal.ts';
import type { Manifest } from '../../static-pods/manifest/manifest.ts';
import type { Durability } from '../../static-pods/mover.ts';
import { createWarnOnce } from '../../telemetry/log-once.ts';
import type { Log } from '../../telemetry/log.ts';

/** The kubelet as whoever ends pods has to see it. */
type KubeletState =
  | { readonly kind: 'up' }
  /** It does not answer since then, in milliseconds since the epoch. */
  | { readonly kind: 'down'; readonly since: number }
  /** The agent itself has stopped it. */
  | { readonly kind: 'stopped' };

/** A kubelet that nobody has asked for this long may have been up meanwhile. */
const UNASKED_MS = 60_000;
/** After this time of failed moves a shutdown continues without the move. */
const LASTING_MS = 5_000;
/** So long the first reading of the static pod directory is waited for; after that it counts as empty. */
const FIRST_READ_MS = 120_000;

/** Which pods are to leave, and which parked ones stay parked. */
export interface StaticPodIntent {
  readonly leave: ReadonlyMap<string, Leave>;
  readonly targeted: ReadonlySet<string>;
  readonly mirrors: ReadonlySet<string> | undefined;
  readonly keepParked: (pod: ParkedPod) => boolean;
  /** The maintenance of this node's own shutdown, which waits for no disk; absent while there is none. */
  readonly shutdown?: string | undefined;
  /** Why programs of the control plane neither leave nor come back yet, by file. */
  readonly holds?: ReadonlyMap<string, MemberHold>;
  /** Grace periods in seconds that a deadline made shorter, by file. */
  readonly graces?: ReadonlyMap<string, number>;
}

interface StaticPodDependencies {
  /** The store in use; the kubelet may come back with another directory. */
  readonly store: () => StaticPodStore;
  readonly nodeName: string;
  readonly bootId: string;
  readonly runtime: ContainerRuntime;
  /** Hashes of the certificates of the cluster's authority; absent, or undefined, where they are not known. */
  readonly authorities?: () => readonly string[] | undefined;
  readonly kubeletUp: (signal: AbortSignal) => Promise<boolean>;
  /** Tells whether the agent itself has stopped the kubelet, for a drain without an API server; absent where it never does. */
  readonly kubelet?: Pick<KubeletUnit, 'isStopped'> | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** Reads the static pods; from their directories unless given. */
  readonly read?: typeof readStaticPods;
}

/**
 * Makes the memory of when manifests were parked, so that a clock that is set makes it neither longer nor shorter ago. A step
 * that this process sees first with a time to come counts as made just then.
 */
export function createParkTimes(clock: Clock): (steps: ReadonlyMap<string, ParkStep>) => ReadonlyMap<string, ParkStep> {
  let seen = new Map<string, { readonly step: ParkStep; readonly at: Moment }>();
  return (steps) => {
    const now = momentOf(clock);
    const before = seen;
    seen = new Map(
      [...steps].map(([file, step]) => {
        const known = before.get(file);
        return [file, { step, at: known?.step.at === step.at ? known.at : now }];
      }),
    );
    return new Map(
      [...seen].map(([file, { step, at }]) => [
        file,
        { ...step, at: asOfNow(at, now) - Math.max(0, at.wall - step.at) },
      ]),
    );
  };
}

/** What people are told of copies of another cluster; empty without any. */
export function othersWarning({ ofOthers = [] }: Pick<StaticPodView, 'ofOthers'>): readonly string[] {
  if (ofOthers.length === 0) return [];
  return [`${ofOthers.join(', ')} were parked in another cluster, and stay parked: remove these files`];
}

/** The kubelet in the terms of the rules, which wait for no kubelet that the agent has stopped. */
function kubeletFacts(kubelet: KubeletState): { readonly kubeletDownSince?: number; readonly kubeletStopped: boolean } {
  if (kubelet.kind === 'up') return { kubeletStopped: false };
  if (kubelet.kind === 'down') return { kubeletDownSince: kubelet.since, kubeletStopped: false };
  return { kubeletDownSince: 0, kubeletStopped: true };
}

/** Observes the static pods and carries out what is decided about them. Nothing is read or changed before the first call. */
export class StaticPods {
  readonly #dependencies: StaticPodDependencies;
  readonly #reader: StaticPodReader;
  readonly #stops;
  readonly #parkTimes;
  readonly #warnOfOthers;
  readonly #startedAt: number;
  /** The manifests that were in place when the directory was read last. */
  #known: readonly Manifest[] | undefined;
  /** Since when each parked manifest may be restored, by file. */
  #freeSince = new Map<string, Moment>();
  /** Manifests in place that cannot be moved because of the disk: it is full, read-only or broken, or takes no copy. */
  readonly #stuck = new Map<string, { readonly reason: string; readonly since: number }>();
  /** Since when the kubelet does not answer, and when it was asked last, on the monotonic clock. */
  #down: { readonly since: Moment; readonly askedAt: number } | undefined;

  constructor(dependencies: StaticPodDependencies) {
    const { clock, log, runtime } = dependencies;
    this.#dependencies = dependencies;
    this.#reader = {
      ...dependencies,
      onDirectory: createWarnOnce(log, 'cannot read the directory of manifests'),
      onRuntime: createWarnOnce(log, 'container runtime does not answer'),
    };
    this.#stops = new SandboxStops(runtime, dependencies);
    this.#parkTimes = createParkTimes(clock);
    this.#warnOfOthers = createWarnOnce(log, 'some manifests stay parked');
    this.#startedAt = clock.monotonic();
  }

  /** Reads the static pods; pods that were ended in place are apart, which only the runtime shows. */
  async observe(signal: AbortSignal): Promise<StaticPodView> {
    const { store, kubelet, clock, read = readStaticPods } = this.#dependencies;
    const current = store();
    const refusal = await current.check();
    if (refusal !== undefined) return { inPlace: [], ended: [], parked: [], live: undefined, refusal };
    const steps = this.#parkTimes(current.mover.parkSteps());
    // A directory that cannot be read from the start on must not hold the machine for ever.
    const isNew = clock.monotonic() - this.#startedAt < FIRST_READ_MS;
    const view = await read(this.#reader, current, { steps, inPlace: this.#known ?? (isNew ? undefined : []) }, signal);
    this.#known = view.inPlace;
    this.#warnOfOthers(othersWarning(view)[0]);
    const lasting = this.stuck();
    if (lasting.size === 0 || (await kubelet?.isStopped()) !== true) return view;
    const live = view.live ?? (await readLive(this.#reader, signal));
    const isEnded = (pod: Manifest): boolean => lasting.has(pod.file) && live !== undefined && !live.has(podKey(pod));
    const rest = view.inPlace.filter((pod) => !isEnded(pod));
    return { ...view, inPlace: rest, ended: view.inPlace.filter(isEnded), live };
  }

  /** What is to be done; asks the kubelet, and the runtime where it has to. */
  async decide(view: StaticPodView, intent: StaticPodIntent, signal: AbortSignal): Promise<StaticPodDecision> {
    const now = momentOf(this.#dependencies.clock);
    const free = view.parked.filter((pod) => !intent.keepParked(pod));
    this.#freeSince = new Map(free.map(({ file }) => [file, this.#freeSince.get(file) ?? now]));
    const parked = new Set(view.parked.map(({ file }) => file));
    const isToMove = view.inPlace.some((pod) => intent.leave.has(podKey(pod)) || parked.has(pod.file));
    const kubelet: KubeletState = isToMove ? await this.kubelet(signal) : { kind: 'up' };
    const live = kubelet.kind === 'up' ? view.live : (view.live ?? (await readLive(this.#reader, signal)));
    const freeSince = new Map([...this.#freeSince].map(([file, moment]) => [file, asOfNow(moment, now)]));
    const leaving = view.inPlace.filter((pod) => intent.leave.has(podKey(pod)) || intent.shutdown !== undefined);
    const kept = new Set([...leaving, ...view.ended].map(({ file }) => file));
    for (const file of this.#stuck.keys()) if (!kept.has(file)) this.#stuck.delete(file);
    const lasting = this.stuck();
    const stuck = new Map(
      [...this.#stuck].map(([file, { reason }]) => [file, { reason, isLasting: lasting.has(file) }]),
    );
    return decideStaticPods({ now: now.wall, ...view, live, ...intent, ...kubeletFacts(kubelet), stuck, freeSince });
  }

  /** Carries it out, in its order; returns whether all actions succeeded. One that fails is logged once, and the next iteration repeats it. */
  async act(
    view: StaticPodView,
    { actions }: StaticPodDecision,
    shutdown: string | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { clock, log } = this.#dependencies;
    let isDone = true;
    for (const action of actions) {
      const { file, kind } = action;
      try {
        await this.#perform(action, view, shutdown, signal);
      } catch (error) {
        // One manifest that cannot be moved must not keep the others.
        signal.throwIfAborted();
        isDone = false;
        const reason = describeError(error);
        const known = this.#stuck.get(file);
        this.#stuck.set(file, { reason, since: known?.since ?? clock.monotonic() });
        if (known?.reason !== reason) log.error({ manifest: file, action: kind, reason }, 'static pod action failed');
      }
    }
    return isDone;
  }

  /** Manifests that could not be moved for some time, by file. */
  stuck(): ReadonlySet<string> {
    const now = this.#dependencies.clock.monotonic();
    return new Set([...this.#stuck].filter(([, { since }]) => now - since >= LASTING_MS).map(([file]) => file));
  }

  /** The kubelet, which is asked each time. That it does not answer is logged once. */
  async kubelet(signal: AbortSignal): Promise<KubeletState> {
    const { kubeletUp, kubelet, clock, log } = this.#dependencies;
    // A kubelet that the agent has stopped does not come back before the drain is over: nothing may wait for it.
    if ((await kubelet?.isStopped()) === true) return { kind: 'stopped' };
    if (await kubeletUp(signal)) {
      this.#down = undefined;
      return { kind: 'up' };
    }
    const now = momentOf(clock);
    const known = this.#down;
    const since = known !== undefined && now.monotonic - known.askedAt < UNASKED_MS ? known.since : now;
    if (since === now) log.warn({}, 'the kubelet does not answer at its /healthz; nothing waits for it for long');
    this.#down = { since, askedAt: now.monotonic };
    return { kind: 'down', since: asOfNow(since, now) };
  }

  async #perform(
    action: StaticPodAction,
    view: StaticPodView,
    shutdown: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { store, log } = this.#dependencies;
    const { file } = action;
    if (action.kind === 'park') {
      await this.#park(action, view, shutdown);
    } else if (action.kind === 'restore') {
      const outcome = await store().mover.restore(file);
      log.info({ manifest: file, outcome }, 'restored manifest');
    } else {
      this.#stops.begin(action.sandboxId, action.graceSec, { manifest: file }, signal);
    }
  }

  async #park(
    { file, leave }: Extract<StaticPodAction, { readonly kind: 'park' }>,
    view: StaticPodView,
    shutdown: string | undefined,
  ): Promise<void> {
    const { store, bootId, authorities: readAuthorities, clock, log } = this.#dependencies;
    const pod = view.inPlace.find((manifest) => manifest.file === file);
    const { maintenance, reason } = leave;
    const step = { op: 'park', file, sha256: pod?.sha256 ?? '', maintenance, at: clock.now(), bootId } as const;
    const authorities = readAuthorities?.();
    const why = {
      ...(maintenance === shutdown && { shutdown: true }),
      ...(authorities && { authorities: [...authorities] }),
    };
    // A person's maintenance can wait for the disk; a machine that goes down cannot.
    const durability: Durability = shutdown === undefined ? 'durable' : 'best-effort';
    await store().mover.park({ ...step, ...why, ...(pod && { pod }) }, durability);
    this.#stuck.delete(file);
    log.info({ manifest: file, maintenance, reason }, 'parked manifest');
  }
}
