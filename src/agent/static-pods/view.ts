/** The static pods of the node at one moment: read from their directories, and from the runtime where it is needed. */
import { SOURCE_ANNOTATION } from '../../api/names.ts';
import type { DrainPlanEntry } from '../../api/node-maintenance.ts';
import type { DeadlinePod } from '../../decide/deadline/static-pods.ts';
import { targetsCover } from '../../decide/maintenance/drain-plan.ts';
import type { DrainPod } from '../../decide/pod.ts';
import { type Leave, type ParkedPod, podKey } from '../../decide/static-pod/moves.ts';
import { isOfAnotherCluster } from '../../decide/static-pod/parked.ts';
import { describeError, NodemaintError } from '../../errors.ts';
import { type ContainerRuntime, isSilentWithoutPods } from '../../host/cri/runtime.ts';
import type { Disk } from '../../static-pods/disk/disk.ts';
import { readInPlace, readParked } from '../../static-pods/inventory.ts';
import type { ParkStep } from '../../static-pods/journal/journal.ts';
import type { Manifest } from '../../static-pods/manifest/manifest.ts';
import type { Mover } from '../../static-pods/mover.ts';
import type { MoverPaths } from '../../static-pods/places.ts';

/** The static pods at one moment. */
export interface StaticPodView {
  readonly inPlace: readonly Manifest[];
  /** Pods that were ended although their manifests cannot be moved; the kubelet is stopped, so they stay so. */
  readonly ended: readonly Manifest[];
  readonly parked: readonly (ParkedPod & Manifest)[];
  readonly live: ReadonlyMap<string, readonly string[]> | undefined;
  /** Files that were parked in another cluster, and stay so; absent for none. */
  readonly ofOthers?: readonly string[];
  /** Why no manifest can be moved; then no manifest is read either. Absent where manifests can be moved. */
  readonly refusal?: string;
}

/** The directories of the static pods, and their only writer. */
export interface StaticPodStore {
  readonly paths: MoverPaths;
  readonly disk: Disk;
  readonly mover: Mover;
  /** Checks whether root may act on the directories now; returns what is wrong, or undefined. */
  check(): Promise<string | undefined>;
  /** What the last check found. */
  refusal(): string | undefined;
}

/** Whether containers of a parked pod run, or may run because the runtime does not answer. */
export function isRunning(pod: ParkedPod, { live }: StaticPodView): boolean {
  return pod.thisBoot && (live === undefined || (live.get(podKey(pod)) ?? []).length > 0);
}

/** The pods of the view that still run or would run, as the drain plan sees them. */
export function drainPodsOf(view: StaticPodView): readonly (DrainPod & DeadlinePod)[] {
  const running = view.parked.filter((pod) => isRunning(pod, view));
  const all: readonly (Manifest & Partial<Pick<ParkedPod, 'parkedAt'>>)[] = [...view.inPlace, ...running];
  return all.map(({ namespace, podName: name, file: uid, priority, labels, graceSec, parkedAt }) => {
    const pod = { namespace, name, uid, podType: 'Static', priority, labels, graceSec } as const;
    return parkedAt === undefined ? pod : { ...pod, parkedAt };
  });
}

/**
 * The view with the priorities that the mirror pods have, by pod key, as the controller sees them: a PriorityClass of the
 * cluster is known only to the API server. A pod without a mirror pod keeps the priority of its manifest.
 */
export function withMirrorPriorities(view: StaticPodView, priorities: ReadonlyMap<string, number>): StaticPodView {
  const resolve = <T extends Manifest>(pods: readonly T[]): readonly T[] =>
    pods.map((pod) => ({ ...pod, priority: priorities.get(podKey(pod)) ?? pod.priority }));
  return { ...view, inPlace: resolve(view.inPlace), parked: resolve(view.parked) };
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

/** What is needed to read the static pods; the callbacks receive what cannot be read. */
export interface StaticPodReader {
  readonly nodeName: string;
  readonly bootId: string;
  readonly runtime: ContainerRuntime;
  /** Hashes of the certificates of the cluster's authority; undefined where they are not known. */
  readonly authorities?: () => readonly string[] | undefined;
  /** Receives why a directory cannot be read, and undefined when it can. */
  readonly onDirectory: (reason: string | undefined) => void;
  /** Receives why the runtime does not answer, and undefined when it does. */
  readonly onRuntime: (reason: string | undefined) => void;
}

/**
 * Reads the manifests in place. A directory that is gone has none, as for the kubelet; where it cannot be read, `known` is
 * returned, with which the kubelet continues too. Neither may stop a drain. Throws where it cannot be read and `known` is
 * undefined: nobody knows yet whether there are none.
 */
async function readManifests(
  { nodeName, onDirectory }: StaticPodReader,
  paths: MoverPaths,
  known: readonly Manifest[] | undefined,
  signal: AbortSignal,
): Promise<readonly Manifest[]> {
  try {
    const { manifests } = await readInPlace(paths, nodeName, signal);
    onDirectory(undefined);
    return manifests;
  } catch (error) {
    signal.throwIfAborted();
    onDirectory(describeError(error));
    if (error instanceof NodemaintError && error.code === 'STATIC_POD_DIRECTORY_MISSING') return [];
    if (known === undefined) throw error;
    return known;
  }
}

/** Reads the IDs of the sandboxes that are live, by pod key; undefined where the runtime does not answer, and some may be. */
export async function readLive(
  { runtime, onRuntime }: StaticPodReader,
  signal: AbortSignal,
): Promise<StaticPodView['live']> {
  try {
    const live = new Map<string, string[]>();
    for (const sandbox of await runtime.livePods(signal)) {
      // The agent waits for and stops only pods that come from a file, whatever name an ordinary pod has.
      if (sandbox.annotations[SOURCE_ANNOTATION] === 'api') continue;
      const key = podKey(sandbox);
      live.set(key, [...(live.get(key) ?? []), sandbox.id]);
    }
    onRuntime(undefined);
    return live;
  } catch (error) {
    signal.throwIfAborted();
    onRuntime(describeError(error));
    return isSilentWithoutPods(error) ? new Map() : undefined;
  }
}

/** What was known of the static pods before they are read. */
interface KnownStaticPods {
  /** The step that parked each manifest, by file. */
  readonly steps: ReadonlyMap<string, ParkStep>;
  /** The manifests that were in place when the directory was read last; undefined where it never was, for a while. */
  readonly inPlace: readonly Manifest[] | undefined;
}

/** Reads the static pods' directories, and asks the runtime where pods of parked manifests may still be ending. */
export async function readStaticPods(
  reader: StaticPodReader,
  { paths, disk }: Pick<StaticPodStore, 'paths' | 'disk'>,
  known: KnownStaticPods,
  signal: AbortSignal,
): Promise<StaticPodView> {
  const { steps } = known;
  const inPlace = await readManifests(reader, paths, known.inPlace, signal);
  const found = await readParked({ ...paths, nodeName: reader.nodeName }, steps, disk, signal);
  const authorities = reader.authorities?.();
  const isOurs = ({ file }: Manifest): boolean => !isOfAnotherCluster(steps.get(file)?.authorities, authorities);
  const ofOthers = found.filter((pod) => !isOurs(pod)).map(({ file }) => file);
  const parked = found.filter(isOurs).map((pod) => {
    const step = steps.get(pod.file);
    return {
      ...pod,
      maintenance: step?.maintenance ?? '',
      parkedAt: step?.at ?? 0,
      thisBoot: step === undefined || step.bootId === reader.bootId,
    };
  });
  const live = parked.some(({ thisBoot }) => thisBoot) ? await readLive(reader, signal) : undefined;
  return { inPlace, ended: [], parked, live, ...(ofOthers.length === 0 ? {} : { ofOthers }) };
}
