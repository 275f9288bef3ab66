/** The copies of a controller of the objects of `lifecycle.k8s.io`, by the pods that they target. */
import type { Eviction, LifecycleRequest, PodReference } from '../../api/lifecycle.ts';
import type { KubeObject } from '../../api/meta.ts';
import { type Read, readEviction, readLifecycleRequest } from './parse.ts';
import { EVICTIONS, LIFECYCLE_REQUESTS } from './resources.ts';
import type { CurrentCopy } from '../leader/readiness.ts';
import { createRecentWrites } from '../read-your-writes.ts';
import { keyOf, type Resource } from '../resource.ts';
import { createObjectCache, type ObjectCache, type WatchDependencies } from '../watch.ts';
import { createGrouping } from '../copy/grouping.ts';

/** Objects of one kind, each as it is known best: a write of this process counts before the watch has brought it. */
export interface TargetedObjects<T extends KubeObject> {
  readonly cache: ObjectCache<Read<T>>;
  get(key: string): T | undefined;
  /** The objects under the key of a target (`targetKey`). */
  under(target: string): readonly T[];
  /** Notes what a write, or a read, has brought. */
  note(object: T): void;
}

interface Targeting extends KubeObject {
  readonly spec: { readonly target: { readonly pod?: PodReference } };
}

/**
 * The key under which all objects for pods of one name are judged together: NAMESPACE/POD. One whose target is no pod is
 * judged alone, under a key that is no name of a pod.
 */
export function targetKey({ metadata, spec }: Targeting): string {
  return `${metadata.namespace}/${spec.target.pod?.name ?? `?${metadata.uid}`}`;
}

function createTargetedObjects<T extends Targeting>(
  resource: Resource,
  read: (object: KubeObject) => Read<T>,
  dependencies: WatchDependencies,
  onTarget: (target: string, key: string) => void,
): TargetedObjects<T> {
  const targets = createGrouping();
  const writes = createRecentWrites<T>();
  const get = (key: string): T | undefined => writes.latest(key, cache.get(key)?.read);
  const regroup = (key: string): ReadonlySet<string> => {
    const object = get(key);
    const before = targets.valuesOf(key);
    targets.set(key, object === undefined ? [] : [targetKey(object)]);
    return new Set([...before, ...targets.valuesOf(key)]);
  };
  const cache: ObjectCache<Read<T>> = createObjectCache<Read<T>>(
    { resource },
    (key) => {
      if (cache.get(key) === undefined) writes.forget(key);
      for (const target of regroup(key)) onTarget(target, key);
    },
    dependencies,
    read,
  );
  return {
    cache,
    get,
    under: (target) => [...targets.under(target)].flatMap((key) => get(key) ?? []),
    note: (object) => {
      const key = keyOf(object);
      writes.note(key, cache.get(key)?.read, object);
      regroup(key);
    },
  };
}

/** The copies of both kinds. */
export interface LifecycleObjects {
  readonly requests: TargetedObjects<LifecycleRequest>;
  readonly evictions: TargetedObjects<Eviction>;
}

/** Creates the copies. `onTarget` is called with the key of the target of each object that changed, and with the object's. */
export function createLifecycleObjects(
  dependencies: WatchDependencies,
  onTarget: (kind: 'request' | 'eviction', target: string, key: string) => void,
): LifecycleObjects {
  return {
    requests: createTargetedObjects(LIFECYCLE_REQUESTS, readLifecycleRequest, dependencies, (target, key) => {
      onTarget('request', target, key);
    }),
    evictions: createTargetedObjects(EVICTIONS, readEviction, dependencies, (target, key) => {
      onTarget('eviction', target, key);
    }),
  };
}

/** The copies by the names of their resources. */
export function copiesOf({ requests, evictions }: LifecycleObjects): Readonly<Record<string, CurrentCopy>> {
  return { 'evictionrequests.lifecycle.k8s.io': requests.cache, evictions: evictions.cache };
}
