import type { DrainPlanEntry } from '../api/node-maintenance.ts';
import { targetsCover } from '../decide/drain-plan.ts';
import type { DrainPod } from '../decide/pod.ts';
import {
  decideStaticPods,
  type Leave,
  type ParkedPod,
  podKey,
  type StaticPodAction,
  type StaticPodDecision,
} from '../decide/static-pods.ts';
import { describeError, NodemaintError } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { ContainerRuntime } from '../host/cri.ts';
import type { Disk } from '../static-pods/disk.ts';
import { readInPlace, readParked } from '../static-pods/inventory.ts';
import type { Manifest } from '../static-pods/manifest.ts';
import type { ParkStep } from '../static-pods/journal.ts';
import type { Mover, MoverPaths } from '../static-pods/mover.ts';
import type { Log } from '../telemetry/log.ts';
import { createSandboxStops, stopInPlaceOfKubelet } from './sandbox-stops.ts';

/** Where the kubelet has a pod from: file, http or api. */
const SOURCE_ANNOTATION = 'kubernetes.io/config.source';

/** The static pods at one moment. */
export interface StaticPodView {
  readonly inPlace: readonly Manifest[];
  readonly parked: readonly (ParkedPod & Manifest)[];
  readonly live: ReadonlyMap<string, readonly string[]> | undefined;
}

/** Which pods are to leave, and which parked ones stay parked. */
export interface StaticPodIntent {
  readonly leave: ReadonlyMap<string, Leave>;
  readonly targeted: ReadonlySet<string>;
  readonly mirrors: ReadonlySet<string> | undefined;
  readonly keepParked: (pod: ParkedPod) => boolean;
  /** Grace periods in seconds that a deadline made shorter, by file. */
  readonly graces?: ReadonlyMap<string, number>;
}

/** The place of the static pods, and who may write there. */
export interface StaticPodStore {
  readonly paths: MoverPaths;
  readonly disk: Disk;
  readonly mover: Mover;
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
  act(view: StaticPodView, decision: StaticPodDecision, signal: AbortSignal): Promise<void>;
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

/** What it takes to read the static pods; the callbacks are told what cannot be read. */
export interface StaticPodReader {
  readonly nodeName: string;
  readonly bootId: string;
  readonly runtime: ContainerRuntime;
  readonly onMissing: (directory: string) => void;
  /** Told why the runtime does not answer, and undefined when it does. */
  readonly onRuntime: (reason: string | undefined) => void;
}

/** The manifests in place; a directory that is gone holds none, as for the kubelet, and must not stop a drain. */
async function readPlace(
  { nodeName, onMissing }: StaticPodReader,
  paths: MoverPaths,
  signal: AbortSignal,
): Promise<readonly Manifest[]> {
  try {
    return (await readInPlace(paths, nodeName, signal)).manifests;
  } catch (error) {
    if (!(error instanceof NodemaintError) || error.code !== 'STATIC_POD_DIRECTORY_MISSING') throw error;
    onMissing(paths.staticPodPath);
    return [];
  }
}

async function readLive({ runtime, onRuntime }: StaticPodReader, signal: AbortSignal): Promise<StaticPodView['live']> {
  try {
    const live = new Map<string, string[]>();
    for (const sandbox of await runtime.livePods(signal)) {
      // Only what comes from a file is ours to wait for and to stop, whatever name an ordinary pod gives itself.
      if (sandbox.annotations[SOURCE_ANNOTATION] === 'api') continue;
      const key = podKey(sandbox);
      live.set(key, [...(live.get(key) ?? []), sandbox.id]);
    }
    onRuntime(undefined);
    return live;
  } catch (error) {
    signal.throwIfAborted();
    onRuntime(describeError(error));
    return undefined;
  }
}

/** Reads the static pods' directories, and asks the runtime where something may still be ending. */
export async function readStaticPods(
  reader: StaticPodReader,
  { paths, disk }: Pick<StaticPodStore, 'paths' | 'disk'>,
  steps: ReadonlyMap<string, ParkStep>,
  signal: AbortSignal,
): Promise<StaticPodView> {
  const inPlace = await readPlace(reader, paths, signal);
  const parked = (await readParked(paths, steps, disk, reader.nodeName, signal)).map((pod) => {
    const step = steps.get(pod.file);
    return {
      ...pod,
      maintenance: step?.maintenance ?? '',
      parkedAt: step?.at ?? 0,
      thisBoot: step === undefined || step.bootId === reader.bootId,
    };
  });
  const live = parked.some(({ thisBoot }) => thisBoot) ? await readLive(reader, signal) : undefined;
  return { inPlace, parked, live };
}

/** Makes the loop's hands. */
export function createStaticPods(dependencies: StaticPodDependencies): StaticPods {
  const { store, nodeName, bootId, runtime, clock, log } = dependencies;
  let complained: string | undefined;
  let kubeletDownSince: number | undefined;
  let freeSince = new Map<string, number>();
  const stops = createSandboxStops(runtime, clock);

  const reader: StaticPodReader = {
    nodeName,
    bootId,
    runtime,
    onMissing: (directory) => {
      log.warn({ directory }, 'directory of manifests is gone');
    },
    onRuntime: (reason) => {
      if (reason !== undefined && reason !== complained) log.warn({ reason }, 'container runtime does not answer');
      complained = reason;
    },
  };

  const perform = async (action: StaticPodAction, view: StaticPodView, signal: AbortSignal): Promise<void> => {
    const { file } = action;
    const { mover } = store();
    if (action.kind === 'park') {
      const pod = view.inPlace.find((manifest) => manifest.file === file);
      const { maintenance, reason } = action.leave;
      const step = { op: 'park', file, sha256: pod?.sha256 ?? '', maintenance, at: clock.now(), bootId } as const;
      await mover.park({ ...step, ...(pod && { pod }) });
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
    return (kubeletDownSince ??= clock.now());
  };

  return {
    observe: async (signal) => {
      const place = store();
      return await readStaticPods(reader, place, place.mover.parkSteps(), signal);
    },
    decide: async (view, intent, signal) => {
      const now = clock.now();
      const free = view.parked.filter((pod) => !intent.keepParked(pod));
      freeSince = new Map(free.map(({ file }) => [file, freeSince.get(file) ?? now]));
      const parked = new Set(view.parked.map(({ file }) => file));
      const toPark = view.inPlace.some((pod) => intent.leave.has(podKey(pod)) || parked.has(pod.file));
      const downSince = await lookAtKubelet(toPark, signal);
      const live = downSince === undefined ? view.live : (view.live ?? (await readLive(reader, signal)));
      const down = downSince === undefined ? {} : { kubeletDownSince: downSince };
      return decideStaticPods({ now, ...view, live, ...intent, ...down, freeSince });
    },
    act: async (view, decision, signal) => {
      for (const action of decision.actions) {
        try {
          await perform(action, view, signal);
        } catch (error) {
          // One manifest that cannot be moved must not keep the others.
          signal.throwIfAborted();
          const reason = describeError(error);
          log.error({ manifest: action.file, action: action.kind, reason }, 'static pod action failed');
        }
      }
    },
  };
}
