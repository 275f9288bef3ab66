import { type ParkedPod, podKey, type StaticPod } from '../decide/static-pod/moves.ts';

/** Where the manifest of a static pod is, and whether the pod runs. */
type StaticPodState =
  /** In the static pod directory: the kubelet runs it. */
  | 'in place'
  /** Moved out, and containers of it still run. */
  | 'ending'
  /** Moved out, and whether containers of it still run is not known: the container runtime does not answer. */
  | 'parked, runtime unknown'
  /** Moved out, and no container of it runs. */
  | 'parked'
  /** An older version of a manifest that was replaced while it was parked; kept for people, never restored. */
  | 'superseded';

/** A line of `nodemaint static-pods list`. */
export interface StaticPodEntry {
  readonly file: string;
  /** NAMESPACE/NAME; absent where the file was not read. */
  readonly pod?: string;
  readonly priority?: number;
  readonly state: StaticPodState;
  readonly maintenance?: string;
  /** Since when it is parked, in milliseconds since the epoch; absent where that is not known. */
  readonly since?: number;
}

/** The contents of the directories, and the containers that run. */
interface StaticPodListFacts {
  readonly inPlace: readonly (StaticPod & { readonly priority: number })[];
  readonly parked: readonly (ParkedPod & { readonly priority: number })[];
  readonly superseded: readonly string[];
  readonly live: ReadonlyMap<string, readonly string[]> | undefined;
}

function stateOf(pod: ParkedPod, live: StaticPodListFacts['live']): StaticPodState {
  if (!pod.thisBoot) return 'parked';
  if (live === undefined) return 'parked, runtime unknown';
  return (live.get(podKey(pod)) ?? []).length > 0 ? 'ending' : 'parked';
}

/** All manifests of a node, sorted by file name; of the same name, the one in place comes first. */
export function listStaticPods({ inPlace, parked, superseded, live }: StaticPodListFacts): readonly StaticPodEntry[] {
  const entries: StaticPodEntry[] = [
    ...inPlace.map((pod) => ({ file: pod.file, pod: podKey(pod), priority: pod.priority, state: 'in place' as const })),
    ...parked.map((pod) => ({
      file: pod.file,
      pod: podKey(pod),
      priority: pod.priority,
      state: stateOf(pod, live),
      ...(pod.maintenance === '' ? {} : { maintenance: pod.maintenance }),
      ...(pod.parkedAt === 0 ? {} : { since: pod.parkedAt }),
    })),
    ...superseded.map((file) => ({ file, state: 'superseded' as const })),
  ];
  return entries.toSorted((a, b) => (a.file < b.file ? -1 : Number(a.file > b.file)));
}
