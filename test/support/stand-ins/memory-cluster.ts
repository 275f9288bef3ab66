/** An API server in memory with the leader's work on top of it: patches change its objects, and each change is noticed. */
import type { EvictionRequest } from '../../../src/api/eviction-request.ts';
import type { KubeObject } from '../../../src/api/meta.ts';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Node, Pod, PodDisruptionBudget } from '../../../src/api/pod.ts';
import type { ControllerContext } from '../../../src/controller/context.ts';
import { createIndexes, type Indexes } from '../../../src/controller/cache/indexes.ts';
import { controllerOptionsSchema } from '../../../src/controller/options.ts';
import { createLeader, type Leader } from '../../../src/controller/leader/leader-loops.ts';
import { countMaintenances } from '../../../src/show/counts/maintenances.ts';
import { countNodes } from '../../../src/show/counts/nodes.ts';
import { countEvictions } from '../../../src/show/counts/evictions.ts';
import { sortedJson } from '../../../src/decide/json.ts';
import { createSystemClock } from '../../../src/host/clock.ts';
import type { KubeClient, KubeRequest, KubeResponse } from '../../../src/kube/client.ts';
import { createUngatedDaemonSets } from '../../../src/kube/eviction/ungated-daemon-sets.ts';
import {
  DISRUPTION_BUDGETS,
  EVICTION_REQUESTS,
  keyOf,
  NODE_MAINTENANCES,
  NODES,
  objectPath,
  PODS,
  type Resource,
} from '../../../src/kube/resource.ts';
import type { ObjectCache } from '../../../src/kube/watch.ts';
import { createControllerMetrics } from '../../../src/telemetry/controller-metrics.ts';
import { SILENT_LOG } from '../silent-log.ts';
import { applied, type Json, mergePatch, strategic } from './patches.ts';

const KINDS = {
  Maintenance: NODE_MAINTENANCES,
  Request: EVICTION_REQUESTS,
  Pod: PODS,
  Node: NODES,
  Budget: DISRUPTION_BUDGETS,
} as const;
/** What the metrics count of an empty cluster: no test reads these here. */
export const NO_COUNTS = {
  ...countEvictions([], [], []),
  maintenances: countMaintenances([], 0),
  nodes: countNodes([], '', 0),
};
type Kind = keyof typeof KINDS;

interface Objects {
  readonly Maintenance: NodeMaintenance;
  readonly Request: EvictionRequest;
  readonly Pod: Pod;
  readonly Node: Node;
  readonly Budget: PodDisruptionBudget;
}

/** What a test sees of the cluster. */
export interface MemoryCluster {
  readonly context: ControllerContext;
  readonly requests: KubeRequest[];
  /** Answers a request in place of the server; undefined lets the server answer. */
  answer: (request: KubeRequest) => { readonly status: number; readonly message: string } | undefined;
  /** Called with each object before it is stored; what it returns is stored. */
  keep: <T extends KubeObject>(kind: Kind, object: T) => T;
  /** The kinds whose copy does not follow the server now. */
  readonly behind: Set<Kind>;
  /** The Events that were recorded. */
  readonly events: { readonly reason: string; readonly message: string }[];
  put(kind: Kind, object: KubeObject): void;
  remove(kind: Kind, key: string): void;
  get<K extends Kind>(kind: K, key: string): Objects[K] | undefined;
  /** Runs the work of a new term until the block ends. */
  lead(): AsyncDisposable;
}

/** Finds the kind and the key of an object by its path. */
function locate(path: string): { readonly kind: Kind; readonly key: string } | undefined {
  for (const kind of Object.keys(KINDS) as Kind[]) {
    const resource: Resource = KINDS[kind];
    const space = resource.namespaced ? '/namespaces/([^/]+)' : '()';
    const match = new RegExp(`^${resource.root}${space}/${resource.plural}/([^/]+)(/status)?$`).exec(path);
    if (match === null) continue;
    const [, namespace = '', name = ''] = match;
    return { kind, key: namespace === '' ? name : `${namespace}/${name}` };
  }
  return undefined;
}

/** Makes a cluster without objects; `options` are those of the controller. */
export function createMemoryCluster(options: Json = {}): MemoryCluster {
  const objects = new Map<Kind, Map<string, KubeObject>>();
  const of = (kind: Kind): Map<string, KubeObject> => {
    const found = objects.get(kind) ?? new Map<string, KubeObject>();
    objects.set(kind, found);
    return found;
  };
  const appliedBefore = new Map<string, Json>();
  let version = 1;
  let leader: Leader | undefined;
  const changed = (kind: Kind, key: string): void => queueMicrotask(() => leader?.notes[kind](key));
  const store = (kind: Kind, key: string, object: KubeObject): KubeObject => {
    version += 1;
    const old = of(kind).get(key);
    const metadata = { uid: old?.metadata.uid ?? `uid-of-${key}`, ...object.metadata, resourceVersion: `${version}` };
    const stored = { ...object, metadata };
    const isEnded = metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0;
    if (isEnded) of(kind).delete(key);
    // The fields of the objects of an API server are in another order than those that a program writes.
    else of(kind).set(key, cluster.keep(kind, JSON.parse(sortedJson(stored)) as typeof stored));
    changed(kind, key);
    return stored;
  };
  const conflict: KubeResponse = { status: 409, headers: {}, body: { message: 'conflict' } };
  const patch = (request: KubeRequest, path: string, kind: Kind, key: string): KubeResponse => {
    const old = of(kind).get(key) as (KubeObject & Json) | undefined;
    const body = request.body as Json;
    const { resourceVersion, uid } = (body['metadata'] ?? {}) as { resourceVersion?: string; uid?: string };
    if (old === undefined && (request.patch?.kind !== 'apply' || uid !== undefined)) {
      return { status: 404, headers: {}, body: { message: 'not found' } };
    }
    if (resourceVersion !== undefined && resourceVersion !== old?.metadata.resourceVersion) return conflict;
    if (uid !== undefined && uid !== old?.metadata.uid) return conflict;
    let fresh: Json;
    if (request.patch?.kind === 'apply') {
      const memory = `${path} ${request.patch.manager}`;
      fresh = applied(old, body, appliedBefore.get(memory));
      appliedBefore.set(memory, body);
    } else fresh = request.patch?.kind === 'strategic' ? strategic(old, body) : (mergePatch(old, body) as Json);
    return { status: 200, headers: {}, body: store(kind, key, fresh as unknown as KubeObject) };
  };
  const remove = (request: KubeRequest, kind: Kind, key: string): KubeResponse => {
    const old = of(kind).get(key);
    if (old === undefined) return { status: 404, headers: {}, body: {} };
    const body = (request.body ?? {}) as { preconditions?: { uid?: string; resourceVersion?: string } };
    const { uid = old.metadata.uid, resourceVersion = old.metadata.resourceVersion } = body.preconditions ?? {};
    if (uid !== old.metadata.uid || resourceVersion !== old.metadata.resourceVersion) return conflict;
    const deletionTimestamp = new Date().toISOString();
    store(kind, key, { ...old, metadata: { ...old.metadata, deletionTimestamp } });
    return { status: 200, headers: {}, body: {} };
  };
  /** Deletes the EvictionRequests of a namespace by their labels. */
  const removeLabelled = (path: string, query = ''): KubeResponse => {
    const labels = (new URLSearchParams(query).get('labelSelector') ?? '').split(',').map((each) => each.split('='));
    for (const [key, { metadata }] of of('Request')) {
      const isSelected = labels.every(([label = '', value]) => metadata.labels?.[label] === value);
      if (isSelected && path.includes(`/namespaces/${metadata.namespace}/`)) remove({} as KubeRequest, 'Request', key);
    }
    return { status: 200, headers: {}, body: {} };
  };
  const send = (request: KubeRequest): KubeResponse => {
    const given = cluster.answer(request);
    if (given !== undefined) return { status: given.status, headers: {}, body: { message: given.message } };
    const [path = '', query] = request.path.split('?');
    const found = locate(path);
    if (found === undefined && request.method === 'DELETE') return removeLabelled(path, query);
    if (found === undefined) {
      const kind = (Object.keys(KINDS) as Kind[]).find((each) => path.endsWith(`/${KINDS[each].plural}`));
      const items = kind === undefined ? [] : [...of(kind).values()];
      return { status: 200, headers: {}, body: { metadata: { resourceVersion: `${version}` }, items } };
    }
    if (request.method === 'PATCH') return patch(request, path, found.kind, found.key);
    if (request.method === 'DELETE') return remove(request, found.kind, found.key);
    const object = of(found.kind).get(found.key);
    return object === undefined ? { status: 404, headers: {}, body: {} } : { status: 200, headers: {}, body: object };
  };
  const client: KubeClient = {
    send: async (request) => {
      cluster.requests.push(request);
      await new Promise(setImmediate);
      return send(request);
    },
    watch: async function* () {},
    close: () => undefined,
  };
  const cacheOf = <T extends KubeObject>(kind: Kind): ObjectCache<T> =>
    ({
      synced: () => true,
      current: () => !cluster.behind.has(kind),
      heardAt: () => Date.now(),
      list: () => [...of(kind).values()],
      get: (key: string) => of(kind).get(key),
      run: () => Promise.resolve(),
    }) as unknown as ObjectCache<T>;
  const indexes = (): Indexes =>
    createIndexes(
      {
        maintenances: cacheOf('Maintenance'),
        requests: cacheOf('Request'),
        pods: cacheOf('Pod'),
        nodes: cacheOf('Node'),
      },
      clock,
    );
  const events: { reason: string; message: string }[] = [];
  const clock = createSystemClock();
  const createContext = (): ControllerContext => {
    const copies = { ...indexes(), budgets: cacheOf<PodDisruptionBudget>('Budget') };
    return {
      client,
      clock,
      log: SILENT_LOG,
      options: controllerOptionsSchema.parse(options),
      metrics: createControllerMetrics(() => NO_COUNTS),
      events: {
        record: (_: unknown, event: { reason: string; message: string }) => events.push(event),
        run: () => Promise.resolve(),
      },
      ungated: createUngatedDaemonSets(clock),
      ...copies,
    };
  };
  const cluster: MemoryCluster = {
    context: createContext(),
    requests: [],
    answer: () => undefined,
    keep: (_, object) => object,
    behind: new Set(),
    events,
    put: (kind, object) => store(kind, keyOf(object), object),
    remove: (kind, key) => {
      of(kind).delete(key);
      changed(kind, key);
    },
    get: <K extends Kind>(kind: K, key: string) => of(kind).get(key) as Objects[K] | undefined,
    lead: () => {
      const stop = new AbortController();
      // As in a term of the real controller: the indexes are as new as the work.
      leader = createLeader({ ...cluster.context, ...indexes() });
      const running = leader.run(stop.signal, stop.signal);
      return {
        [Symbol.asyncDispose]: async () => {
          stop.abort();
          leader = undefined;
          await running;
        },
      };
    },
  };
  return cluster;
}

/** The path of an object of a kind, by its key. */
export function pathOf(kind: Kind, key: string, subresource?: string): string {
  const [namespace = '', name] = key.includes('/') ? key.split('/') : [undefined, key];
  return objectPath(KINDS[kind], { name: name ?? '', ...(namespace === undefined ? {} : { namespace }) }, subresource);
}
