import type { KubeObject } from '../api/meta.ts';
import { NodemaintError } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../telemetry/log.ts';
import type { KubeClient } from './client.ts';
import { listAll } from './list.ts';
import { collectionPath, keyOf, type Resource } from './resource.ts';

/** What to watch: a resource, in all namespaces unless one is named, narrowed by selectors. */
export interface WatchScope {
  readonly resource: Resource;
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** Removes members that this program does not read, so that memory depends on the used members and not on the size of objects. */
export type Transform<T> = (object: T) => T;

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

const FIRST_BACKOFF_MS = 250;
/** The longest pause between attempts to reach a server that is away, so that it is found again soon. */
const MAX_FAILED_MS = 15_000;
/** Of a server that is there, and closes each watch as soon as it is open. */
const MAX_CLOSED_MS = 30_000;
/** After a watch that lived this long the pause starts at its minimum again: servers end each watch after some minutes. */
const LIVED_MS = 15_000;
const GONE = 410;

/**
 * Makes a cache that lists once and then watches with bookmarks (the client library's informer goes deaf while idle,
 * see docs/adr). `onChange` is called with the key of every object that came, changed or went, also after a relist.
 * `trim` is applied to each object before it is kept. A watch that ends is opened again where it stopped; 410 Gone lists anew; all of it with a pause that grows from failure to failure, with jitter.
 */
export function createObjectCache<T extends KubeObject>(
  scope: WatchScope,
  onChange: (key: string) => void,
  { client, clock, log }: WatchDependencies,
  trim: Transform<T> = (object) => object,
): ObjectCache<T> {
  let objects = new Map<string, T>();
  let resourceVersion: string | undefined;
  let heardAt = 0;
  /** Whether the watch that is open, or was last, has brought anything. */
  let hasSpoken = false;

  const path = collectionPath(scope.resource, scope.namespace);
  const { labelSelector, fieldSelector } = scope;
  const selectors = {
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
  };

  const list = async (signal: AbortSignal): Promise<void> => {
    const {
      items,
      resourceVersion: version,
      tooLarge,
    } = await listAll<T>(client, { path, query: selectors }, trim, signal);
    const fresh = new Map(items.map((item) => [keyOf(item), item]));
    if (tooLarge.length > 0)
      log.error({ resource: scope.resource.plural, tooLarge }, 'objects are too large to be read');
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
    hasSpoken = true;
    resourceVersion = event.object.metadata.resourceVersion;
    if (event.type === 'BOOKMARK') return 'go-on';
    const key = keyOf(event.object);
    if (event.type === 'DELETED') objects.delete(key);
    else objects.set(key, trim(event.object as unknown as T));
    onChange(key);
    return 'go-on';
  };

  const watch = async (signal: AbortSignal): Promise<void> => {
    const since = { watch: '1', allowWatchBookmarks: 'true', resourceVersion: resourceVersion ?? '' };
    const search = new URLSearchParams({ ...since, ...selectors }).toString();
    hasSpoken = false;
    for await (const event of client.watch(`${path}?${search}`, signal)) {
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
        const startedAt = clock.monotonic();
        let maxBackoffMs = MAX_CLOSED_MS;
        try {
          if (resourceVersion === undefined) await list(signal);
          await watch(signal);
        } catch (error) {
          if (signal.aborted) return;
          maxBackoffMs = MAX_FAILED_MS;
          // It would be sent again for ever.
          if (error instanceof NodemaintError && error.code === 'API_ANSWER_TOO_LARGE') resourceVersion = undefined;
          log.warn({ err: error, resource: scope.resource.plural, retryMs: backoffMs }, 'watch interrupted');
        }
        // A watch that worked for a while resets the backoff; a server that closes every watch at once is asked less often.
        const lived = clock.monotonic() - startedAt > LIVED_MS;
        if (lived) backoffMs = FIRST_BACKOFF_MS;
        // A server whose etcd was restored from a backup says nothing, not even a bookmark, until it has passed a version that
        // we had from before.
        if (lived && !hasSpoken) resourceVersion = undefined;
        const pauseMs = Math.min(backoffMs, maxBackoffMs) * (0.5 + Math.random());
        backoffMs = Math.min(backoffMs * 2, maxBackoffMs);
        await clock.sleep(pauseMs, signal).catch(() => undefined);
      }
    },
  };
}
