import type { Eviction, PodReference } from '../../api/lifecycle.ts';
import type { Pod } from '../../api/pod.ts';
import type { Clock } from '../../host/clock.ts';
import type { KubeClient } from '../client.ts';
import { objectPath, PODS, sendForObject } from '../resource.ts';
import { targetKey } from './objects.ts';

/** What this process knows of targets beside their objects: by the key of the pods of one name, and the UID of each. */
export interface TargetNotes {
  /** Notes that our copy of the pods is right about this pod: that it is there, or that it is gone. */
  seen(key: string, uid: string): void;
  hasSeen(key: string, uid: string): boolean;
  /** For how many milliseconds it is known that the pod is gone or has ended; 0 when it is first asked. */
  endedMs(key: string, uid: string): number;
  /** Notes that the name with this number belongs to the Eviction of another pod. */
  taken(key: string, number: number): void;
  takenNumber(key: string): number;
  /** Forgets all pods of the name but these. */
  keep(key: string, uids: readonly string[]): void;
}

interface Noted {
  number: number;
  readonly pods: Map<string, { seen: boolean; endedAt?: number }>;
}

export function createTargetNotes(clock: Pick<Clock, 'monotonic'>): TargetNotes {
  const noted = new Map<string, Noted>();
  const of = (key: string): Noted => {
    const known = noted.get(key) ?? { number: 0, pods: new Map() };
    noted.set(key, known);
    return known;
  };
  const podOf = (key: string, uid: string): { seen: boolean; endedAt?: number } => {
    const { pods } = of(key);
    const known = pods.get(uid) ?? { seen: false };
    pods.set(uid, known);
    return known;
  };
  return {
    seen: (key, uid) => {
      podOf(key, uid).seen = true;
    },
    hasSeen: (key, uid) => podOf(key, uid).seen,
    endedMs: (key, uid) => {
      const known = podOf(key, uid);
      known.endedAt ??= clock.monotonic();
      return clock.monotonic() - known.endedAt;
    },
    taken: (key, number) => {
      of(key).number = number;
    },
    takenNumber: (key) => noted.get(key)?.number ?? 0,
    keep: (key, uids) => {
      if (uids.length === 0) noted.delete(key);
      const pods = noted.get(key)?.pods;
      for (const uid of pods?.keys() ?? []) if (!uids.includes(uid)) pods?.delete(uid);
    },
  };
}

/** How pods are read: from the API server, and from our copy of them. */
interface PodReader {
  readonly client: KubeClient;
  readonly pods: { get(key: string): Pod | undefined };
}

/**
 * The pod of the target's name, which may have another UID: from our copy or, while that has never shown this very pod, from
 * the API server. The copy may be late, and a new pod must not be taken for one that is gone.
 */
export async function findPod(
  { client, pods }: PodReader,
  notes: TargetNotes,
  { key, target }: { readonly key: string; readonly target: PodReference },
  signal: AbortSignal,
): Promise<Pod | undefined> {
  const known = pods.get(key);
  if (known?.metadata.uid === target.uid) notes.seen(key, target.uid);
  if (notes.hasSeen(key, target.uid)) return known;
  const path = objectPath(PODS, { name: target.name, namespace: key.split('/')[0] ?? '' });
  const read = await sendForObject<Pod>(client, { method: 'GET', path }, [404], signal);
  // A pod that is gone does not come back: from now on the copy is as good.
  if (read?.metadata.uid !== target.uid) notes.seen(key, target.uid);
  return read;
}

/** The target of an Eviction; undefined where the pod of this UID is gone. */
export async function findTarget(
  context: PodReader,
  notes: TargetNotes,
  eviction: Eviction,
  signal: AbortSignal,
): Promise<Pod | undefined> {
  const target = eviction.spec.target.pod;
  if (target === undefined) return undefined;
  const found = await findPod(context, notes, { key: targetKey(eviction), target }, signal);
  return found?.metadata.uid === target.uid ? found : undefined;
}
