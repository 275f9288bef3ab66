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
import type { ContainerRuntime } from '../../host/cri/runtime.ts';
import type { Manifest } from '../../static-pods/manifest/manifest.ts';
import type { Log } from '../../telemetry/log.ts';
import { createParkTimes } from './park-times.ts';
import { createSandboxStops, stopInPlaceOfKubelet } from '../../host/cri/pod-stops.ts';
import { type StaticPodReader, readLive, readStaticPods, type StaticPodStore, type StaticPodView } from './view.ts';
import { createStuckManifests } from './stuck-manifests.ts';

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

export interface StaticPodDependencies {
  /** The store in use; the kubelet may come back with another directory. */
  readonly store: () => StaticPodStore;
  readonly nodeName: string;
  readonly bootId: string;
  readonly runtime: ContainerRuntime;
  readonly kubeletUp: (signal: AbortSignal) => Promise<boolean>;
  /** Whether the agent itself stopped the kubelet, for a drain without an API server. */
  readonly kubeletStopped: () => Promise<boolean>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Observes the static pods and carries out what is decided about them. */
export interface StaticPods {
  observe(signal: AbortSignal): Promise<StaticPodView>;
  /** What is to be done; asks the kubelet, and the runtime where it has to. */
  decide(view: StaticPodView, intent: StaticPodIntent, signal: AbortSignal): Promise<StaticPodDecision>;
  /** Carries it out; returns whether all went well. What fails is logged once, and tried again by the next turn. */
  act(
    view: StaticPodView,
    decision: StaticPodDecision,
    shutdown: string | undefined,
    signal: AbortSignal,
  ): Promise<boolean>;
  /** Manifests that could not be moved for a while, by file. */
  stuck(): ReadonlySet<string>;
}

function lastingOf(stuck: ReadonlyMap<string, StuckManifest>): ReadonlySet<string> {
  return new Set([...stuck].filter(([, { isLasting }]) => isLasting).map(([file]) => file));
}

export function createStaticPods(dependencies: StaticPodDependencies): StaticPods {
  const { store, nodeName, bootId, runtime, clock, log } = dependencies;
  let complained: string | undefined;
  let kubeletDownSince: Moment | undefined;
  let freeSince = new Map<string, Moment>();
  const parkTimes = createParkTimes(clock);
  const stops = createSandboxStops(runtime, clock);
  const stuck = createStuckManifests(() => clock.monotonic());
  let known: readonly Manifest[] = [];
  let unreadable: string | undefined;

  const reader: StaticPodReader = {
    nodeName,
    bootId,
    runtime,
    onDirectory: (reason) => {
      if (reason !== undefined && reason !== unreadable) log.warn({ reason }, 'cannot read the directory of manifests');
      unreadable = reason;
    },
    onRuntime: (reason) => {
      if (reason !== undefined && reason !== complained) log.warn({ reason }, 'container runtime does not answer');
      complained = reason;
    },
  };

  const perform = async (
    action: StaticPodAction,
    view: StaticPodView,
    shutdown: string | undefined,
    signal: AbortSignal,
  ): Promise<void> => {
    const { file } = action;
    const { mover } = store();
    if (action.kind === 'park') {
      const pod = view.inPlace.find((manifest) => manifest.file === file);
      const { maintenance, reason } = action.leave;
      const step = { op: 'park', file, sha256: pod?.sha256 ?? '', maintenance, at: clock.now(), bootId } as const;
      const why = maintenance === shutdown ? { shutdown: true } : {};
      // A person's maintenance can wait for the disk; the machine that goes down cannot.
      const durability = shutdown === undefined ? 'durable' : 'best-effort';
      await mover.park({ ...step, ...why, ...(pod && { pod }) }, durability);
      stuck.moved(file);
      log.info({ manifest: file, maintenance, reason }, 'parked manifest');
    } else if (action.kind === 'restore') {
      const outcome = await mover.restore(file);
      log.info({ manifest: file, outcome }, 'restored manifest');
    } else {
      const { sandboxId, graceSec } = action;
      stops.begin(sandboxId, graceSec, stopInPlaceOfKubelet(log, { manifest: file }, sandboxId, graceSec), signal);
    }
  };

  /** Since when the kubelet does not answer; it is asked only when a manifest is to be moved. */
  const lookAtKubelet = async (isAsked: boolean, signal: AbortSignal): Promise<number | undefined> => {
    if (!isAsked) return (kubeletDownSince = undefined);
    // Nobody is to wait for a kubelet that does not come back before the drain is over.
    if (await dependencies.kubeletStopped()) return 0;
    if (await dependencies.kubeletUp(signal)) return (kubeletDownSince = undefined);
    if (kubeletDownSince === undefined) {
      log.warn({}, 'the kubelet does not answer at its /healthz; no manifest is moved from under its containers');
    }
    return asOfNow((kubeletDownSince ??= momentOf(clock)), momentOf(clock));
  };

  /** Takes the pods out that were ended in place, as only the runtime tells. */
  const withoutEnded = async (view: StaticPodView, signal: AbortSignal): Promise<StaticPodView> => {
    const lasting = lastingOf(stuck.list());
    if (lasting.size === 0 || !(await dependencies.kubeletStopped())) return view;
    const live = view.live ?? (await readLive(reader, signal));
    const isEnded = (pod: Manifest): boolean => lasting.has(pod.file) && live !== undefined && !live.has(podKey(pod));
    const rest = view.inPlace.filter((pod) => !isEnded(pod));
    return { ...view, inPlace: rest, ended: view.inPlace.filter(isEnded), live };
  };

  return {
    observe: async (signal) => {
      const place = store();
      const refusal = await place.check();
      if (refusal !== undefined) return { inPlace: [], ended: [], parked: [], live: undefined, refusal };
      const steps = parkTimes.asOfNow(place.mover.parkSteps());
      const view = await readStaticPods(reader, place, steps, known, signal);
      known = view.inPlace;
      return await withoutEnded(view, signal);
    },
    decide: async (view, intent, signal) => {
      const now = momentOf(clock);
      const free = view.parked.filter((pod) => !intent.keepParked(pod));
      freeSince = new Map(free.map(({ file }) => [file, freeSince.get(file) ?? now]));
      const parked = new Set(view.parked.map(({ file }) => file));
      const toPark = view.inPlace.some((pod) => intent.leave.has(podKey(pod)) || parked.has(pod.file));
      const downSince = await lookAtKubelet(toPark, signal);
      const live = downSince === undefined ? view.live : (view.live ?? (await readLive(reader, signal)));
      const down = downSince === undefined ? {} : { kubeletDownSince: downSince };
      const since = new Map([...freeSince].map(([file, moment]) => [file, asOfNow(moment, now)]));
      const leaving = view.inPlace.filter((pod) => intent.leave.has(podKey(pod)) || intent.shutdown !== undefined);
      stuck.keep(new Set([...leaving, ...view.ended].map(({ file }) => file)));
      const disk = { stuck: stuck.list(), kubeletStopped: downSince === 0 };
      return decideStaticPods({ now: now.wall, ...view, live, ...intent, ...down, ...disk, freeSince: since });
    },
    stuck: () => lastingOf(stuck.list()),
    act: async (view, decision, shutdown, signal) => {
      let isDone = true;
      for (const action of decision.actions) {
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
    },
  };
}
