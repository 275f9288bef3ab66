/** The model of the API server with the leader's work on top of it, which notices each change. */
import type { EvictionRequest } from '../../../src/api/eviction-request.ts';
import type { KubeObject } from '../../../src/api/meta.ts';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Node, Pod, PodDisruptionBudget } from '../../../src/api/pod.ts';
import { createMaintenanceRead } from '../../../src/controller/cache/fresh-maintenances.ts';
import type { ControllerContext } from '../../../src/controller/context.ts';
import { createIndexes, type Indexes } from '../../../src/controller/cache/indexes.ts';
import { controllerOptionsSchema } from '../../../src/controller/options.ts';
import { createLeader, type Leader } from '../../../src/controller/leader/leader-loops.ts';
import { countMaintenances } from '../../../src/show/counts/maintenances.ts';
import { countNodes } from '../../../src/show/counts/nodes.ts';
import { countEvictions } from '../../../src/show/counts/evictions.ts';
import { sortedJson } from '../../../src/decide/json.ts';
import { createSystemClock } from '../../../src/host/clock.ts';
import type { KubeClient, KubeRequest } from '../../../src/kube/client.ts';
import { UngatedDaemonSets } from '../../../src/kube/eviction/ungated-daemon-sets.ts';
import { keyOf } from '../../../src/kube/resource.ts';
import type { ObjectCache } from '../../../src/kube/watch.ts';
import { createControllerMetrics } from '../../../src/telemetry/controller-metrics.ts';
import { SILENT_LOG } from '../silent-log.ts';
import type { ModelKind } from '../../simulation/api-server/kinds.ts';
import { createModelServer } from '../../simulation/api-server/server.ts';

const MODEL_KINDS = {
  Maintenance: 'NodeMaintenance',
  Request: 'EvictionRequest',
  Pod: 'Pod',
  Node: 'Node',
  Budget: 'PodDisruptionBudget',
} as const satisfies Readonly<Record<string, ModelKind>>;
type Kind = keyof typeof MODEL_KINDS;
const KINDS = Object.keys(MODEL_KINDS) as readonly Kind[];
/** What the metrics count of an empty cluster: no test reads these here. */
export const NO_COUNTS = {
  ...countEvictions([], [], []),
  maintenances: countMaintenances([], 0),
  nodes: countNodes([], '', 0),
};

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
  /** Called with each object that reaches the controller's copies; what it returns is what these have. */
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

/** Makes a cluster without objects; `options` are those of the controller. */
export function createMemoryCluster(options: object = {}): MemoryCluster {
  const server = createModelServer(Date.now);
  const { objects } = server;
  const copies = new Map(KINDS.map((kind) => [kind, new Map<string, KubeObject>()]));
  const of = (kind: Kind): Map<string, KubeObject> => copies.get(kind) ?? new Map<string, KubeObject>();
  let leader: Leader | undefined;
  objects.onChange(({ kind: changed, key, object, deleted }) => {
    const kind = KINDS.find((each) => MODEL_KINDS[each] === changed);
    if (kind === undefined) return;
    if (deleted) of(kind).delete(key);
    // The fields of the objects of an API server are in another order than those that a program writes.
    else of(kind).set(key, cluster.keep(kind, JSON.parse(sortedJson(object)) as KubeObject));
    queueMicrotask(() => leader?.notes[kind](key));
  });
  const client: KubeClient = {
    send: async (request) => {
      cluster.requests.push(request);
      await new Promise(setImmediate);
      const given = cluster.answer(request);
      if (given !== undefined) return { status: given.status, headers: {}, body: { message: given.message } };
      return server.handle(request, 'controller');
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
      ungated: new UngatedDaemonSets(clock),
      readMaintenances: createMaintenanceRead(client, copies.maintenances),
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
    put: (kind, object) => {
      const known = objects.get(MODEL_KINDS[kind], keyOf(object));
      const metadata = { uid: known?.object.metadata.uid ?? `uid-of-${keyOf(object)}`, ...object.metadata };
      const own = JSON.parse(JSON.stringify({ ...object, metadata })) as KubeObject;
      objects.put(MODEL_KINDS[kind], own, known?.owners ?? new Map());
    },
    remove: (kind, key) => {
      const known = objects.get(MODEL_KINDS[kind], key);
      if (known !== undefined) objects.remove(MODEL_KINDS[kind], known.object);
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
