import type { KubeObject } from '../api/meta.ts';
import { NodemaintError } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../telemetry/log.ts';
import type { KubeClient } from './client.ts';
import { collectionPath, type Resource, sendForObject } from './resource.ts';

/** What to watch: a resource, in all namespaces unless one is named, narrowed by selectors. */
export interface WatchScope {
  readonly resource: Resource;
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** Takes away what nobody here reads, so that memory grows with what is used of the objects and not with their size. */
export type Trim<T> = (object: T) => T;

/** A live copy of the objects of a resource. */
export interface ObjectCache<T extends KubeObject> {
  /** Whether the first list has arrived. */
  synced(): boolean;
  /** Milliseconds since the epoch at which the server was last heard of; 0 before the first list. */
  heardAt(): number;
  list(): readonly T[];
  get(key: string): T | undefined;
  /** Keeps the copy current until the signal is aborted; never throws for a server that is away. */
  run(signal: AbortSignal): Promise<void>;
}

export interface WatchDependencies {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
}

interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: KubeObject & { readonly code?: number };
}

interface ObjectList<T> {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly T[];
}

const PAGE_SIZE = 500;
const FIRST_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 15_000;
const GONE = 410;

/** The key of an object in a cache and in a queue: NAMESPACE/NAME, or NAME. */
export function keyOf(object: KubeObject): string {
  const { namespace, name } = object.metadata;
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/**
 * Makes a cache that lists once and then watches with bookmarks (the client library's informer goes deaf while idle,
 * see docs/adr). `onChange` is called with the key of every object that came, changed or went, also after a relist.
 * `trim` is applied to each object before it is kept. A watch that ends is opened again where it stopped; 410 Gone lists anew; everything else backs off, with jitter.
 */
export function createObjectCache<T extends KubeObject>(
  scope: WatchScope,
  onChange: (key: string) => void,
  { client, clock, log }: WatchDependencies,
  trim: Trim<T> = (object) => object,
): ObjectCache<T> {
  let objects = new Map<string, T>();
  let resourceVersion: string | undefined;
  let heardAt = 0;

  const query = (extra: Readonly<Record<string, string>>): string => {
    const search = new URLSearchParams(extra);
    if (scope.labelSelector !== undefined) search.set('labelSelector', scope.labelSelector);
    if (scope.fieldSelector !== undefined) search.set('fieldSelector', scope.fieldSelector);
    return `${collectionPath(scope.resource, scope.namespace)}?${search.toString()}`;
  };

  const list = async (signal: AbortSignal): Promise<void> => {
    const fresh = new Map<string, T>();
    let next: string | undefined = '';
    let version = '';
    while (next !== undefined) {
      const path = query({ limit: String(PAGE_SIZE), ...(next === '' ? {} : { continue: next }) });
      const page: ObjectList<T> | undefined = await sendForObject(client, { method: 'GET', path }, [], signal);
      if (page === undefined) break;
      for (const item of page.items) fresh.set(keyOf(item), trim(item));
      version = page.metadata.resourceVersion;
      const token: string | undefined = page.metadata.continue;
      next = token === undefined || token === '' ? undefined : token;
    }
    const before = objects;
    objects = fresh;
    resourceVersion = version;
    heardAt = clock.now();
    for (const key of new Set([...before.keys(), ...fresh.keys()])) {
      const changed = before.get(key)?.metadata.resourceVersion !== fresh.get(key)?.metadata.resourceVersion;
      if (changed || before.size === 0) onChange(key);
    }
  };

  const apply = (event: WatchEvent): 'go-on' | 'list' => {
    if (event.type === 'ERROR') {
      if (event.object.code === GONE) return 'list';
      throw new NodemaintError('API_REFUSED', `the watch on ${scope.resource.plural} ended with ${event.object.code}`);
    }
    heardAt = clock.now();
    resourceVersion = event.object.metadata.resourceVersion;
    if (event.type === 'BOOKMARK') return 'go-on';
    const key = keyOf(event.object);
    if (event.type === 'DELETED') objects.delete(key);
    else objects.set(key, trim(event.object as unknown as T));
    onChange(key);
    return 'go-on';
  };

  const watch = async (signal: AbortSignal): Promise<void> => {
    const path = query({ watch: '1', allowWatchBookmarks: 'true', resourceVersion: resourceVersion ?? '' });
    for await (const event of client.watch(path, signal)) {
      if (apply(event as WatchEvent) === 'list') {
        resourceVersion = undefined;
        return;
      }
    }
  };

  return {
    synced: () => heardAt > 0,
    heardAt: () => heardAt,
    list: () => [...objects.values()],
    get: (key) => objects.get(key),
    run: async (signal) => {
      let backoffMs = FIRST_BACKOFF_MS;
      while (!signal.aborted) {
        const startedAt = clock.now();
        try {
          if (resourceVersion === undefined) await list(signal);
          await watch(signal);
          backoffMs = FIRST_BACKOFF_MS;
        } catch (error) {
          if (signal.aborted) return;
          // A quick failure after a good connection starts the backoff anew.
          if (clock.now() - startedAt > MAX_BACKOFF_MS) backoffMs = FIRST_BACKOFF_MS;
          log.warn({ err: error, resource: scope.resource.plural, retryMs: backoffMs }, 'watch interrupted');
          backoffMs = Math.min(backoffMs * 2, MAX_BACKOFF_MS);
        }
        const pauseMs = backoffMs * (0.5 + Math.random());
        await clock.sleep(pauseMs, signal).catch(() => undefined);
      }
    },
  };
}
