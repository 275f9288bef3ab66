import { setTimeout as sleep } from 'node:timers/promises';
import type { EvictionRequest } from '../../src/api/eviction-request.ts';
import type { KubeObject } from '../../src/api/meta.ts';
import type { NodeMaintenance } from '../../src/api/node-maintenance.ts';
import type { Node, Pod, PodDisruptionBudget } from '../../src/api/pod.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import {
  collectionPath,
  DISRUPTION_BUDGETS,
  EVICTION_REQUESTS,
  keyOf,
  NODE_MAINTENANCES,
  NODES,
  PODS,
  type Resource,
} from '../../src/kube/resource.ts';

/** The types of the objects that are watched. */
export interface Objects {
  readonly Node: Node;
  readonly Pod: Pod;
  readonly NodeMaintenance: NodeMaintenance;
  readonly EvictionRequest: EvictionRequest;
  readonly PodDisruptionBudget: PodDisruptionBudget;
}
export type Kind = keyof Objects;

/** Where they are on the API server. */
export const WATCHED = {
  Node: NODES,
  Pod: PODS,
  NodeMaintenance: NODE_MAINTENANCES,
  EvictionRequest: EVICTION_REQUESTS,
  PodDisruptionBudget: DISRUPTION_BUDGETS,
} as const satisfies Readonly<Record<Kind, Resource>>;

/** One change of one object. Revisions are etcd's: they order the changes of all kinds. */
export interface Change {
  readonly revision: number;
  /** When the watch told it, in milliseconds since the epoch. */
  readonly at: number;
  readonly kind: Kind;
  readonly key: string;
  /** The object after the change, or before it where the change is its deletion. */
  readonly object: KubeObject;
  readonly deleted: boolean;
}

/** The changes of some objects, in the order in which the watches told them; sort them by revision. */
export interface TimelineRecord {
  readonly changes: readonly Change[];
  end(): void;
}

/** Records of changes, and the objects as they are now. */
export interface Timeline {
  /** Records the changes of these objects from now on. */
  record(owns: (object: KubeObject) => boolean): TimelineRecord;
  list<K extends Kind>(kind: K): readonly Objects[K][];
  synced(): boolean;
  run(signal: AbortSignal): Promise<void>;
}

interface WatchEvent {
  readonly type: string;
  readonly object: KubeObject & { readonly items?: readonly KubeObject[] };
}

const AGAIN_MS = 200;

function revisionOf(object: KubeObject): number {
  return Number(object.metadata.resourceVersion ?? 0);
}

/** Makes a timeline; `run` fills it through one watch a kind. */
export function createTimeline(client: KubeClient): Timeline {
  const records = new Set<{ readonly owns: (object: KubeObject) => boolean; readonly changes: Change[] }>();
  const kinds = Object.keys(WATCHED) as readonly Kind[];
  const objects = new Map(kinds.map((kind) => [kind, new Map<string, KubeObject>()]));
  const synced = new Set<Kind>();

  const note = (kind: Kind, object: KubeObject, deleted: boolean, revision = revisionOf(object)): void => {
    const key = keyOf(object);
    const known = objects.get(kind);
    const before = known?.get(key);
    if (!deleted && before !== undefined && revisionOf(before) >= revision) return;
    if (deleted) known?.delete(key);
    else known?.set(key, object);
    const change: Change = { revision, at: Date.now(), kind, key, object, deleted };
    for (const { owns, changes } of records) if (owns(object)) changes.push(change);
  };

  /** Lists a kind, notes what the watch has missed, and returns the revision of the list. */
  const list = async (kind: Kind, signal: AbortSignal): Promise<string | undefined> => {
    const { status, body } = await client.send({ method: 'GET', path: collectionPath(WATCHED[kind]) }, signal);
    if (status !== 200) return undefined;
    const { items = [], metadata } = body as WatchEvent['object'];
    const present = new Set(items.map(keyOf));
    for (const [key, object] of objects.get(kind) ?? []) {
      if (!present.has(key)) note(kind, object, true, Number(metadata.resourceVersion));
    }
    for (const item of items) note(kind, item, false);
    synced.add(kind);
    return metadata.resourceVersion;
  };

  const watch = async (kind: Kind, from: string, signal: AbortSignal): Promise<void> => {
    const query = `watch=true&allowWatchBookmarks=true&resourceVersion=${from}`;
    for await (const event of client.watch(`${collectionPath(WATCHED[kind])}?${query}`, signal)) {
      const { type, object } = event as WatchEvent;
      if (type === 'ERROR') return;
      if (type !== 'BOOKMARK') note(kind, object, type === 'DELETED');
    }
  };

  const follow = async (kind: Kind, signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      try {
        const from = await list(kind, signal);
        if (from !== undefined) await watch(kind, from, signal);
      } catch {
        // The API server is away; the next list tells what was missed.
      }
      await sleep(AGAIN_MS, undefined, { signal }).catch(() => undefined);
    }
  };

  return {
    record: (owns) => {
      const record = { owns, changes: [] };
      records.add(record);
      return { changes: record.changes, end: () => void records.delete(record) };
    },
    list: <K extends Kind>(kind: K) => [...(objects.get(kind)?.values() ?? [])] as unknown as readonly Objects[K][],
    synced: () => synced.size === kinds.length,
    run: async (signal) => {
      await Promise.all(kinds.map((kind) => follow(kind, signal)));
    },
  };
}
