/** Indexes of objects in memory, made from scratch. */
import type { EvictionRequest } from '../../../src/api/eviction-request.ts';
import type { KubeObject } from '../../../src/api/meta.ts';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Node, Pod } from '../../../src/api/pod.ts';
import { createIndexes, type Indexes } from '../../../src/controller/cache/indexes.ts';
import type { Clock } from '../../../src/host/clock.ts';
import { keyOf } from '../../../src/kube/resource.ts';
import type { ObjectCache } from '../../../src/kube/watch.ts';

/** The objects of a cluster. */
export interface ListedObjects {
  readonly maintenances?: Iterable<NodeMaintenance>;
  readonly requests?: Iterable<EvictionRequest>;
  readonly pods?: Iterable<Pod>;
  readonly nodes?: Iterable<Node>;
}

/** A live copy of the objects in a map, by their keys. */
export function cacheOfMap<T extends KubeObject>(objects: ReadonlyMap<string, T>): ObjectCache<T> {
  return {
    synced: () => true,
    current: () => true,
    heardAt: () => 0,
    list: () => [...objects.values()],
    get: (key) => objects.get(key),
    run: () => Promise.resolve(),
  };
}

function cacheOfList<T extends KubeObject>(objects: Iterable<T> = []): ObjectCache<T> {
  return cacheOfMap(new Map([...objects].map((object) => [keyOf(object), object])));
}

/** Notes all objects of the copies, as a new term does. */
export function noteAll(indexes: Indexes): Indexes {
  for (const node of indexes.nodes.list()) indexes.maintenances.noteNode(keyOf(node));
  for (const maintenance of indexes.maintenances.list()) indexes.maintenances.note(keyOf(maintenance));
  for (const pod of indexes.pods.list()) indexes.pods.note(keyOf(pod));
  for (const request of indexes.requests.list()) indexes.requests.note(keyOf(request));
  return indexes;
}

/** The indexes of objects that stay as they are. */
export function indexesOf(
  { maintenances, requests, pods, nodes }: ListedObjects,
  clock: Pick<Clock, 'now'> = Date,
): Indexes {
  const copies = {
    maintenances: cacheOfList(maintenances),
    requests: cacheOfList(requests),
    pods: cacheOfList(pods),
    nodes: cacheOfList(nodes),
  };
  return noteAll(createIndexes(copies, clock));
}

/** The indexes of the objects in maps, which may change without being noted: each question notes all of them anew. */
export function indexesOfMaps(copies: Parameters<typeof createIndexes>[0]): Indexes {
  const anew = <K extends keyof Indexes>(kind: K): Indexes[K] =>
    new Proxy({} as Indexes[K], {
      get: (_, member) => Reflect.get(noteAll(createIndexes(copies, Date))[kind], member) as unknown,
    });
  return { maintenances: anew('maintenances'), requests: anew('requests'), pods: anew('pods'), nodes: anew('nodes') };
}
