import { readLive, readStaticPods, type StaticPodReader, type StaticPodStore, type StaticPodView } from './view.ts';
import {
  decideStaticPods,
  type Leave,
  type ParkedPod,
  podKey,
  type StaticPodAction,
  type StaticPodDecision,
  type StuckManifest,
} from '../../decide/static-pod/moves.ts';
import { describeError } from '../../errors.ts';
import { asOfNow, type Clock, type Moment, momentOf } from '../../host/clock.ts';
import { createSandboxStops, stopInPlaceOfKubelet } from '../../host/cri/pod-stops.ts';
import type { ContainerRuntime } from '../../host/cri/runtime.ts';
import type { ParkStep } from '../../static-pods/journal/journal.ts';
import type { Manifest } from '../../static-pods/manifest/manifest.ts';
import type { Durability } from '../../static-pods/mover.ts';
import { createLogOnce } from '../../telemetry/log-once.ts';
import type { Log } from '../../telemetry/log.ts';

/** The kubelet as whoever ends pods has to see it. */
export type KubeletState =
  | { readonly kind: 'up' }
  /** It does not answer since then, in milliseconds since the epoch. */
  | { readonly kind: 'down'; readonly since: number }
  /** The agent itself has stopped it. */
  | { readonly kind: 'stopped' };

interface KubeletStateDependencies {
  readonly kubeletUp: (signal: AbortSignal) => Promise<boolean>;
  /** Whether the agent itself stopped the kubelet, for a drain without an API server. */
  readonly kubeletStopped: () => Promise<boolean>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
}

/** A kubelet that nobody has asked for this long may have been up meanwhile. */
const UNASKED_MS = 60_000;

/** Creates the observer of the kubelet, which asks it each time. That it does not answer is logged once. */
function createKubeletObserver({
  kubeletUp,
  kubeletStopped,
  clock,
  log,
}: KubeletStateDependencies): (signal: AbortSignal) => Promise<KubeletState> {
  let down: { readonly since: Moment; readonly askedAt: number } | undefined;
  return async (signal) => {
    // A kubelet that the agent has stopped does not come back before the drain is over: nothing may wait for it.
    if (await kubeletStopped()) return { kind: 'stopped' };
    if (await kubeletUp(signal)) {
      down = undefined;
      return { kind: 'up' };
    }
    const now = momentOf(clock);
    const since = down !== undefined && now.monotonic - down.askedAt < UNASKED_MS ? down.since : now;
    if (since === now) log.warn({}, 'the kubelet does not answer at its /healthz; nothing waits for it for long');
    down = { since, askedAt: now.monotonic };
    return { kind: 'down', since: asOfNow(since, now) };
  };
}

/** Manifests in place that cannot be moved because of the disk: it is full, read-only or broken, or takes no copy. */
interface StuckManifests {
  /** Notes that a move failed; returns whether the reason is new. */
  failed(file: string, reason: string): boolean;
  moved(file: string): void;
  /** Forgets all but these. */
  keep(files: ReadonlySet<string>): void;
  /** The manifests that are stuck now, by file. */
  list(): ReadonlyMap<string, StuckManifest>;
}

/** After this time of failed moves a shutdown continues without the move. */
const LASTING_MS = 5_000;

/** Makes an empty list; `monotonicNow` gives milliseconds. */
function createStuckManifests(monotonicNow: () => number): StuckManifests {
  const stuck = new Map<string, { readonly reason: string; readonly since: number }>();
  return {
    failed: (file, reason) => {
      const known = stuck.get(file);
      stuck.set(file, { reason, since: known?.since ?? monotonicNow() });
      return known?.reason !== reason;
    },
    moved: (file) => {
      stuck.delete(file);
    },
    keep: (files) => {
      for (const file of stuck.keys()) if (!files.has(file)) stuck.delete(file);
    },
    list: () =>
      new Map(
        [...stuck].map(([file, { reason, since }]) => [
          file,
          { reason, isLasting: monotonicNow() - since >= LASTING_MS },
        ]),
      ),
  };
}

interface StaticPodActionDependencies {
  readonly store: () => Pick<StaticPodStore, 'mover'>;
  readonly bootId: string;
  readonly runtime: ContainerRuntime;
  readonly authorities?: () => readonly string[] | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/** Performs the actions in their order; returns whether all succeeded. An action that fails is logged once. */
type PerformActions = (
  actions: readonly StaticPodAction[],
  view: StaticPodView,
  shutdown: string | undefined,
  signal: AbortSignal,
) => Promise<boolean>;

/** Creates what moves manifests and stops pods; `stuck` receives which moves fail. */
function createStaticPodActions(
  { store, bootId, runtime, authorities: readAuthorities, clock, log }: StaticPodActionDependencies,
  stuck: Pick<StuckManifests, 'failed' | 'moved'>,
): PerformActions {
  const stops = createSandboxStops(runtime, clock);

  const park = async (
    { file, leave }: Extract<StaticPodAction, { readonly kind: 'park' }>,
    view: StaticPodView,
    shutdown: string | undefined,
  ): Promise<void> => {
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
    stuck.moved(file);
    log.info({ manifest: file, maintenance, reason }, 'parked manifest');
  };

  const perform = async (
    action: StaticPodAction,
    view: StaticPodView,
    shutdown: string | undefined,
    signal: AbortSignal,
  ): Promise<void> => {
    const { file } = action;
    if (action.kind === 'park') {
      await park(action, view, shutdown);
    } else if (action.kind === 'restore') {
      const outcome = await store().mover.restore(file);
      log.info({ manifest: file, outcome }, 'restored manifest');
    } else {
      const { sandboxId, graceSec } = action;
      stops.begin(sandboxId, graceSec, stopInPlaceOfKubelet(log, { manifest: file }, sandboxId, graceSec), signal);
    }
  };

  return async (actions, view, shutdown, signal) => {
    let isDone = true;
    for (const action of actions) {
      try {
        await perform(action, view, shutdown, signal);
      } catch (error) {
        // One manifest that cannot be moved must not keep the others.
        signal.throwIfAborted();
        isDone = false;
        const reason = describeError(error);
        const isNews = stuck.failed(action.file, reason);
        if (isNews) log.error({ manifest: action.file, action: action.kind, reason }, 'static pod action failed');
      }
    }
    return isDone;
  };
}

/** Which pods are to leave, and which parked ones stay parked. */
export interface StaticPodIntent {
  readonly leave: ReadonlyMap<string, Leave>;
  readonly targeted: ReadonlySet<string>;
  readonly mirrors: ReadonlySet<string> | undefined;
  readonly keepParked: (pod: ParkedPod) => boolean;
  /** The maintenance of this node's own shutdown, which waits for no disk; absent while there is none. */
  readonly shutdown?: string | undefined;
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
  /** Whether the agent itself stopped the kubelet, for a drain without an API server. */
  readonly kubeletStopped: () => Promise<boolean>;
  readonly clock: Clock;
  readonly log: Log;
  /** Reads the static pods; from their directories unless given. */
  readonly read?: typeof readStaticPods;
}

/** Observes the static pods and carries out what is decided about them. */
export interface StaticPods {
  observe(signal: AbortSignal): Promise<StaticPodView>;
  /** What is to be done; asks the kubelet, and the runtime where it has to. */
  decide(view: StaticPodView, intent: StaticPodIntent, signal: AbortSignal): Promise<StaticPodDecision>;
  /** Carries it out; returns whether all actions succeeded. One that fails is logged once, and the next iteration repeats it. */
  act(
    view: StaticPodView,
    decision: StaticPodDecision,
    shutdown: string | undefined,
    signal: AbortSignal,
  ): Promise<boolean>;
  /** Manifests that could not be moved for some time, by file. */
  stuck(): ReadonlySet<string>;
  /** The kubelet, which is asked. */
  kubelet(signal: AbortSignal): Promise<KubeletState>;
}

/** So long the first reading of the static pod directory is waited for; after that it counts as empty. */
const FIRST_READ_MS = 120_000;

function lastingOf(stuck: StuckManifests): ReadonlySet<string> {
  return new Set([...stuck.list()].filter(([, { isLasting }]) => isLasting).map(([file]) => file));
}

/** Reads the runtime and the directories; each failure is logged when it begins. */
function createReader({ log, ...dependencies }: StaticPodDependencies): StaticPodReader {
  return {
    ...dependencies,
    onDirectory: createLogOnce((reason) => {
      log.warn({ reason }, 'cannot read the directory of manifests');
    }),
    onRuntime: createLogOnce((reason) => {
      log.warn({ reason }, 'container runtime does not answer');
    }),
  };
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
        return [file, known?.step.at === step.at ? known : { step, at: now }];
      }),
    );
    return new Map(
      [...seen].map(([file, { at }]) => {
        const step = steps.get(file) as ParkStep;
        return [file, { ...step, at: asOfNow(at, now) - Math.max(0, at.wall - step.at) }];
      }),
    );
  };
}

/** What people are told of copies of another cluster; empty without any. */
export function othersWarning({ ofOthers = [] }: Pick<StaticPodView, 'ofOthers'>): readonly string[] {
  if (ofOthers.length === 0) return [];
  return [`${ofOthers.join(', ')} were parked in another cluster, and stay parked: remove these files`];
}

/** Reads the static pods; pods that were ended in place are apart, which only the runtime shows. */
function createObserver(
  { store, kubeletStopped, clock, log, read = readStaticPods }: StaticPodDependencies,
  reader: StaticPodReader,
  stuck: StuckManifests,
): StaticPods['observe'] {
  const parkTimes = createParkTimes(clock);
  const startedAt = clock.monotonic();
  let known: readonly Manifest[] | undefined;
  const warnOfOthers = createLogOnce((reason) => {
    log.warn({ reason }, 'some manifests stay parked');
  });
  /** A directory that cannot be read from the start on must not hold the machine for ever. */
  const knownNow = (): readonly Manifest[] | undefined =>
    known ?? (clock.monotonic() - startedAt < FIRST_READ_MS ? undefined : []);
  const withoutEnded = async (view: StaticPodView, signal: AbortSignal): Promise<StaticPodView> => {
    const lasting = lastingOf(stuck);
    if (lasting.size === 0 || !(await kubeletStopped())) return view;
    const live = view.live ?? (await readLive(reader, signal));
    const isEnded = (pod: Manifest): boolean => lasting.has(pod.file) && live !== undefined && !live.has(podKey(pod));
    const rest = view.inPlace.filter((pod) => !isEnded(pod));
    return { ...view, inPlace: rest, ended: view.inPlace.filter(isEnded), live };
  };
  return async (signal) => {
    const current = store();
    const refusal = await current.check();
    if (refusal !== undefined) return { inPlace: [], ended: [], parked: [], live: undefined, refusal };
    const steps = parkTimes(current.mover.parkSteps());
    const view = await read(reader, current, { steps, inPlace: knownNow() }, signal);
    known = view.inPlace;
    warnOfOthers(othersWarning(view)[0]);
    return await withoutEnded(view, signal);
  };
}

/** The kubelet in the terms of the rules, which wait for no kubelet that the agent has stopped. */
function kubeletFacts(kubelet: KubeletState): { readonly kubeletDownSince?: number; readonly kubeletStopped: boolean } {
  if (kubelet.kind === 'up') return { kubeletStopped: false };
  if (kubelet.kind === 'down') return { kubeletDownSince: kubelet.since, kubeletStopped: false };
  return { kubeletDownSince: 0, kubeletStopped: true };
}

/** Collects the facts of one moment and decides by them. */
function createDecider(
  dependencies: StaticPodDependencies,
  reader: StaticPodReader,
  stuck: StuckManifests,
  observeKubelet: StaticPods['kubelet'],
): StaticPods['decide'] {
  const { clock } = dependencies;
  /** Since when each parked manifest may be restored, by file. */
  let freeSince = new Map<string, Moment>();
  return async (view, intent, signal) => {
    const now = momentOf(clock);
    const free = view.parked.filter((pod) => !intent.keepParked(pod));
    freeSince = new Map(free.map(({ file }) => [file, freeSince.get(file) ?? now]));
    const parked = new Set(view.parked.map(({ file }) => file));
    const isToMove = view.inPlace.some((pod) => intent.leave.has(podKey(pod)) || parked.has(pod.file));
    const kubelet: KubeletState = isToMove ? await observeKubelet(signal) : { kind: 'up' };
    const live = kubelet.kind === 'up' ? view.live : (view.live ?? (await readLive(reader, signal)));
    const since = new Map([...freeSince].map(([file, moment]) => [file, asOfNow(moment, now)]));
    const leaving = view.inPlace.filter((pod) => intent.leave.has(podKey(pod)) || intent.shutdown !== undefined);
    stuck.keep(new Set([...leaving, ...view.ended].map(({ file }) => file)));
    const disk = { stuck: stuck.list(), freeSince: since };
    return decideStaticPods({ now: now.wall, ...view, live, ...intent, ...kubeletFacts(kubelet), ...disk });
  };
}

/** Creates the parts; nothing is read or changed before the first call. */
export function createStaticPods(dependencies: StaticPodDependencies): StaticPods {
  const { clock } = dependencies;
  const reader = createReader(dependencies);
  const stuck = createStuckManifests(() => clock.monotonic());
  const perform = createStaticPodActions(dependencies, stuck);
  const kubelet = createKubeletObserver(dependencies);
  return {
    observe: createObserver(dependencies, reader, stuck),
    decide: createDecider(dependencies, reader, stuck, kubelet),
    kubelet,
    act: (view, decision, shutdown, signal) => perform(decision.actions, view, shutdown, signal),
    stuck: () => lastingOf(stuck),
  };
}
