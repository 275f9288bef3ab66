import type { KubeObject } from '../api/meta.ts';
import { NodemaintError } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../telemetry/log.ts';
import type { KubeClient } from './client.ts';
import { type ConnectionLoss, createConnectionLoss, hasCode } from './connection-loss.ts';
import { listAll } from './list.ts';
import { collectionPath, keyOf, type Resource } from './resource.ts';
import type { WatchGroup } from './watch-group.ts';

/** What is watched: a resource, in all namespaces or in one, with the selectors that limit it. */
export interface WatchScope {
  readonly resource: Resource;
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** Removes the fields that this program does not read, so that the memory does not grow with the size of the objects. */
export type Transform<T> = (object: T) => T;

/** A live copy of the objects of a resource. */
export interface ObjectCache<T extends KubeObject> {
  /** Whether the first list has arrived. */
  synced(): boolean;
  /** Whether the copy follows the server: there was a list, or an event, since the connection was lost last. */
  current(): boolean;
  /** When the server last sent a list or an event, in milliseconds since the epoch; 0 before the first list. */
  heardAt(): number;
  list(): readonly T[];
  get(key: string): T | undefined;
  /** Keeps the copy current until the signal is aborted; never throws if the server cannot be reached. */
  run(signal: AbortSignal): Promise<void>;
}

export interface WatchDependencies {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  /** The watches whose copies are used together with this one; none unless given. */
  readonly group?: WatchGroup;
}

interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: KubeObject & { readonly code?: number };
}

/** The first pause, which doubles after each watch that ends. */
const FIRST_BACKOFF_MS = 250;
/** The longest pause after a failure, before its jitter, so that a server that returns is soon used again. */
const MAX_FAILED_MS = 15_000;
/** The longest pause, before its jitter, for a server that answers and closes each watch as soon as it is open. */
const MAX_CLOSED_MS = 30_000;
/** After a watch that lived this long the pause starts at its minimum again: servers end each watch after some minutes. */
const LIVED_MS = 15_000;
/** A copy that is not followed for longer than this is not current. */
const UNWATCHED_MS = 1_000;
/** The HTTP status for a resourceVersion that the server does not have any more. */
const GONE = 410;

/** How a watch ended: the server closed it, or it failed. */
type WatchEnd = { readonly kind: 'closed' } | { readonly kind: 'failed'; readonly error: unknown };

function selectorsOf({ labelSelector, fieldSelector }: WatchScope): Readonly<Record<string, string>> {
  return {
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
  };
}

/** The keys of the objects that came, changed or went between two lists; all of them if the first list was empty. */
function changedKeys(
  before: ReadonlyMap<string, KubeObject>,
  after: ReadonlyMap<string, KubeObject>,
): readonly string[] {
  const keys = [...new Set([...before.keys(), ...after.keys()])];
  if (before.size === 0) return keys;
  return keys.filter((key) => before.get(key)?.metadata.resourceVersion !== after.get(key)?.metadata.resourceVersion);
}

/** Between 0.5 and 1.5 times the time, so that the clients of a server that returns do not all connect at once. */
function withJitter(ms: number): number {
  return Math.round(ms * (0.5 + Math.random()));
}

/** Lists a resource, watches it, and keeps its objects, as client-go's Reflector does. */
class Reflector<T extends KubeObject> {
  readonly #scope: WatchScope;
  readonly #onChange: (key: string) => void;
  readonly #dependencies: WatchDependencies;
  readonly #trim: Transform<T>;
  #objects = new Map<string, T>();
  /** Where the next watch begins; undefined where a list has to come first. */
  #resourceVersion: string | undefined;
  #heardAt = 0;
  /** Whether the watch that is open, or was last, has brought an event. */
  #hasBroughtEvent = false;
  #isCurrent = false;
  readonly #loss: ConnectionLoss;

  constructor(scope: WatchScope, onChange: (key: string) => void, dependencies: WatchDependencies, trim: Transform<T>) {
    this.#scope = scope;
    this.#onChange = onChange;
    this.#dependencies = dependencies;
    this.#trim = trim;
    this.#loss = createConnectionLoss(dependencies.clock);
  }

  get objects(): ReadonlyMap<string, T> {
    return this.#objects;
  }

  get heardAt(): number {
    return this.#heardAt;
  }

  get isCurrent(): boolean {
    return this.#isCurrent;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, group } = this.#dependencies;
    let backoffMs = FIRST_BACKOFF_MS;
    while (!signal.aborted) {
      const startedAt = clock.monotonic();
      const end = await this.#listAndWatch(signal);
      if (end.kind === 'failed' && signal.aborted) return;
      // A watch that worked for a while resets the pause; a server that closes every watch at once is asked less often.
      const lived = clock.monotonic() - startedAt > LIVED_MS;
      const isWarmingUp = end.kind === 'failed' && this.#loss.failed(end.error) === 'warming-up';
      if (lived || isWarmingUp) backoffMs = FIRST_BACKOFF_MS;
      // A server whose etcd was restored from a backup sends nothing, not even a bookmark, until its versions are higher than
      // the one that this process had before.
      if (lived && !this.#hasBroughtEvent) this.#resourceVersion = undefined;
      const maxBackoffMs = end.kind === 'failed' ? MAX_FAILED_MS : MAX_CLOSED_MS;
      const retryMs = withJitter(Math.min(backoffMs, maxBackoffMs));
      if (end.kind === 'failed') {
        const fields = { err: end.error, resource: this.#scope.resource.plural, retryMs };
        if (isWarmingUp) log.debug(fields, 'the API server refuses the watch while it starts');
        else log.warn(fields, 'watch interrupted');
      }
      if (end.kind === 'failed' || retryMs > UNWATCHED_MS) this.#leaveBehind();
      backoffMs = Math.min(backoffMs * 2, maxBackoffMs);
      if (group === undefined) await clock.sleep(retryMs, signal).catch(() => undefined);
      else await group.pause(retryMs, signal);
    }
  }

  /** Notes that the copy does not follow the server for a while. */
  #leaveBehind(): void {
    this.#isCurrent = false;
    if (this.#dependencies.group !== undefined) this.#resourceVersion = undefined;
  }

  /** Lists where that is needed, and watches until the watch ends. */
  async #listAndWatch(signal: AbortSignal): Promise<WatchEnd> {
    try {
      if (this.#resourceVersion === undefined) await this.#list(signal);
      await this.#watch(signal);
      return { kind: 'closed' };
    } catch (error) {
      // From the same version the server would send the event that is too large again and again.
      if (hasCode(error, 'API_ANSWER_TOO_LARGE')) this.#resourceVersion = undefined;
      return { kind: 'failed', error };
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, clock, log, group } = this.#dependencies;
    const { resource, namespace } = this.#scope;
    const scope = { path: collectionPath(resource, namespace), query: selectorsOf(this.#scope) };
    const { items, resourceVersion, tooLarge } = await listAll<T>(client, scope, this.#trim, signal);
    const before = this.#objects;
    const after = new Map(items.map((item) => [keyOf(item), item]));
    if (tooLarge.length > 0) log.error({ resource: resource.plural, tooLarge }, 'objects are too large to be read');
    this.#objects = after;
    this.#resourceVersion = resourceVersion;
    this.#heardAt = clock.now();
    this.#isCurrent = true;
    if (this.#loss.restored()) group?.connected();
    for (const key of changedKeys(before, after)) this.#onChange(key);
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { resource, namespace } = this.#scope;
    const since = { watch: '1', allowWatchBookmarks: 'true', resourceVersion: this.#resourceVersion ?? '' };
    const search = new URLSearchParams({ ...since, ...selectorsOf(this.#scope) }).toString();
    const path = `${collectionPath(resource, namespace)}?${search}`;
    this.#hasBroughtEvent = false;
    for await (const event of this.#dependencies.client.watch(path, signal)) {
      if (this.#apply(event as WatchEvent) === 'list') {
        this.#resourceVersion = undefined;
        return;
      }
    }
  }

  /** Applies an event; returns whether the watch continues, or a list has to come next. */
  #apply(event: WatchEvent): 'continue' | 'list' {
    if (event.type === 'ERROR') {
      if (event.object.code === GONE) return 'list';
      const what = `the watch on ${this.#scope.resource.plural}`;
      const { code } = event.object;
      throw new NodemaintError('API_REFUSED', `${what} ended with ${code}`, { status: code });
    }
    this.#heardAt = this.#dependencies.clock.now();
    this.#hasBroughtEvent = true;
    this.#isCurrent = true;
    this.#resourceVersion = event.object.metadata.resourceVersion;
    if (event.type === 'BOOKMARK') return 'continue';
    const key = keyOf(event.object);
    if (event.type === 'DELETED') this.#objects.delete(key);
    else this.#objects.set(key, this.#trim(event.object as unknown as T));
    this.#onChange(key);
    return 'continue';
  }
}

/**
 * Creates a cache that lists once and then watches with bookmarks (the client library's informer receives nothing after an
 * idle time, see docs/adr/0002-kubernetes-client.md). `onChange` is called with the key of every object that came, changed or went, also after another
 * list. `trim` is applied to each object before it is kept. A watch that ends is opened again where it stopped; after 410 Gone
 * a list comes first. Before each of them is a pause, with jitter, that grows from failure to failure.
 */
export function createObjectCache<T extends KubeObject>(
  scope: WatchScope,
  onChange: (key: string) => void,
  dependencies: WatchDependencies,
  trim: Transform<T> = (object) => object,
): ObjectCache<T> {
  const reflector = new Reflector(scope, onChange, dependencies, trim);
  return {
    synced: () => reflector.heardAt > 0,
    current: () => reflector.isCurrent,
    heardAt: () => reflector.heardAt,
    list: () => [...reflector.objects.values()],
    get: (key) => reflector.objects.get(key),
    run: (signal) => reflector.run(signal),
  };
}
