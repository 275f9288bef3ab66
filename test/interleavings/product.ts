/** The loops of the controller of a checkout, or of a copy of one with a fault, as they look at one key. */
import path from 'node:path';
import type { KubeObject } from '../../src/api/meta.ts';
import type { PodDisruptionBudget } from '../../src/api/pod.ts';
import type * as Indexes from '../../src/controller/cache/indexes.ts';
import type * as ChangesModule from '../../src/controller/changes.ts';
import type { Changes } from '../../src/controller/changes.ts';
import type { ControllerContext } from '../../src/controller/context.ts';
import type * as BudgetRule from '../../src/controller/disruption-budget/budget-rule.ts';
import type * as Imperative from '../../src/controller/eviction/imperative.ts';
import type * as Requests from '../../src/controller/eviction/reconciler.ts';
import type * as DrainRequests from '../../src/controller/lifecycle/drain-requests.ts';
import type * as Maintenances from '../../src/controller/maintenance/loops.ts';
import type * as Nodes from '../../src/controller/maintenance/nodes.ts';
import type * as Options from '../../src/controller/options.ts';
import type * as AttemptsModule from '../../src/decide/eviction/imperative.ts';
import type { EvictionMemory } from '../../src/decide/eviction/imperative.ts';
import type * as Transform from '../../src/kube/copy/transform.ts';
import type * as Ungated from '../../src/kube/eviction/ungated-daemon-sets.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import type { Clock } from '../../src/host/clock.ts';
import type { Loop } from '../../src/kube/loop/loops.ts';
import type { ObjectCache } from '../../src/kube/watch.ts';
import { SILENT_LOG } from '../support/silent-log.ts';
import type { KindObjects, WorldObjects } from './objects.ts';
import type { Wanted } from './state.ts';

type Attempts = typeof AttemptsModule;

/** The modules that make the loops. */
interface Modules {
  readonly indexes: typeof Indexes;
  readonly changes: typeof ChangesModule;
  readonly budgetRule: typeof BudgetRule;
  readonly imperative: typeof Imperative;
  readonly requests: typeof Requests;
  readonly drainRequests: typeof DrainRequests;
  readonly maintenances: typeof Maintenances;
  readonly nodes: typeof Nodes;
  readonly options: typeof Options;
  readonly transform: typeof Transform;
  readonly ungated: typeof Ungated;
  readonly attempts: Attempts;
}

const FILES: Readonly<Record<keyof Modules, string>> = {
  indexes: 'controller/cache/indexes.ts',
  changes: 'controller/changes.ts',
  budgetRule: 'controller/disruption-budget/budget-rule.ts',
  imperative: 'controller/eviction/imperative.ts',
  requests: 'controller/eviction/reconciler.ts',
  drainRequests: 'controller/lifecycle/drain-requests.ts',
  maintenances: 'controller/maintenance/loops.ts',
  nodes: 'controller/maintenance/nodes.ts',
  options: 'controller/options.ts',
  transform: 'kube/copy/transform.ts',
  ungated: 'kube/eviction/ungated-daemon-sets.ts',
  attempts: 'decide/eviction/imperative.ts',
};

/** What a look is made with. */
interface LookScope {
  readonly copies: WorldObjects;
  readonly wanted: readonly Wanted[];
  readonly client: KubeClient;
  readonly clock: Clock;
}

/** The loops of one look, and what they tell each other in memory. */
export interface Loops {
  readonly loops: readonly Pick<Loop<Changes>, 'name' | 'reconcile'>[];
  /** The keys that each loop may look at. */
  readonly keys: Readonly<Record<string, readonly string[]>>;
  /** What the maintenances want now. */
  wanted(): readonly Wanted[];
}

/** The controller of one root. */
export interface Product {
  loopsOf(scope: LookScope): Loops;
}

/** Counts nothing, and tells nobody. */
const NOBODY = new Proxy({}, { get: () => () => undefined }) as never;

/** Creates the copies of each kind in the form in which the controller keeps them. */
function createCaches(transform: Modules['transform']): <T extends KubeObject>(objects: KindObjects) => ObjectCache<T> {
  const forms: Readonly<Record<string, (object: never) => KubeObject>> = {
    pod: transform.transformPod,
    node: transform.transformNode,
    nm: transform.transformMaintenance,
    er: transform.transformRequest,
    pdb: transform.transformBudget,
  };
  const known = new Map<number, ReadonlyMap<string, KubeObject>>();
  const formOf = ({ list }: KindObjects): ((object: never) => KubeObject) => {
    const kind = (list[0] as { kind?: string } | undefined)?.kind ?? '';
    const names: Readonly<Record<string, string>> = {
      Pod: 'pod',
      Node: 'node',
      NodeMaintenance: 'nm',
      EvictionRequest: 'er',
      PodDisruptionBudget: 'pdb',
    };
    return forms[names[kind] ?? ''] ?? ((object: KubeObject) => object);
  };
  return <T extends KubeObject>(objects: KindObjects): ObjectCache<T> => {
    const form = formOf(objects);
    const kept =
      known.get(objects.id) ??
      new Map([...objects.stored].map(([key, { object }]) => [key, form(object as never)] as const));
    known.set(objects.id, kept);
    return {
      synced: () => true,
      current: () => true,
      heardAt: () => 0,
      list: () => [...kept.values()] as T[],
      get: (key) => kept.get(key) as T | undefined,
      run: () => Promise.resolve(),
    };
  };
}

const NO_OBJECTS_OF_KIND: KindObjects = { id: -1, stored: new Map(), list: [] };

/** Loads the controller of a root. */
export async function loadProduct(root: string): Promise<Product> {
  const names = Object.keys(FILES) as (keyof Modules)[];
  const loaded = await Promise.all(names.map((name) => import(path.join(root, 'src', FILES[name]))));
  const modules = Object.fromEntries(names.map((name, index) => [name, loaded[index]])) as unknown as Modules;
  // Attempts are not counted: a pod that is blocked would be in another state after each of them.
  const remember = (): EvictionMemory => modules.attempts.NO_ATTEMPT;
  const cacheOf = createCaches(modules.transform);
  const options = modules.options.controllerOptionsSchema.parse({});
  const { OLDER_ONLY, inBothDialects } = modules.drainRequests;
  const contextOf = ({ copies, client, clock }: LookScope): ControllerContext => {
    const caches = {
      nodes: cacheOf(copies.Node),
      maintenances: cacheOf(copies.NodeMaintenance),
      requests: cacheOf(copies.EvictionRequest),
      pods: cacheOf(copies.Pod),
      attachments: cacheOf(NO_OBJECTS_OF_KIND),
    } as unknown as Parameters<Modules['indexes']['createIndexes']>[0];
    const indexes = modules.indexes.createIndexes(caches, clock);
    const budgets = cacheOf<PodDisruptionBudget>(copies.PodDisruptionBudget);
    const budgetRule = modules.budgetRule.createBudgetRule({ ...indexes, budgets, clock });
    const ungated = modules.ungated.createUngatedDaemonSets(clock);
    const shared = { client, clock, log: SILENT_LOG, options, metrics: NOBODY, events: NOBODY };
    return { ...shared, ...indexes, budgets, budgetRule, ungated };
  };
  return {
    loopsOf: (scope) => {
      const context = contextOf(scope);
      const wants = new Map(scope.wanted.map((each) => [each.maintenance, each]));
      const drains = modules.maintenances.createDrains(context, OLDER_ONLY, () => undefined);
      for (const { maintenance, intents, until } of scope.wanted) drains.intents.replace(maintenance, intents, until);
      const intents = {
        ...drains.intents,
        replace: (...[maintenance, list, until]: Parameters<typeof drains.intents.replace>) => {
          const given = { maintenance, intents: list, ...(until === undefined ? {} : { until }) };
          if (list.length === 0) wants.delete(maintenance);
          else wants.set(maintenance, given);
          return drains.intents.replace(maintenance, list, until);
        },
      };
      const own = { ...drains, intents };
      const notes = modules.changes.createChangeNotes(context, () => undefined);
      for (const { metadata } of scope.copies.Node.list) notes.Node(metadata.name);
      for (const { metadata } of scope.copies.NodeMaintenance.list) notes.Maintenance(metadata.name);
      for (const key of scope.copies.EvictionRequest.stored.keys()) notes.Request(key);
      for (const key of scope.copies.Pod.stored.keys()) notes.Pod(key);
      const both = { ...context, requests: inBothDialects(context.requests, OLDER_ONLY) };
      const { maintenances, nodes, requests, imperative } = modules;
      const loops = [
        maintenances.maintenanceLoop(both, own),
        nodes.nodeLoop(both, drains.refused.nodes),
        maintenances.requesterLoop(context, own, { get: () => undefined }),
        requests.evictionRequestLoop(context),
        imperative.imperativeLoop(context, imperative.createImperativeEviction(context, { remember })),
      ];
      const requestKeys = [...scope.copies.EvictionRequest.stored.keys()];
      const wantedKeys = scope.wanted.flatMap((each) => each.intents.map(({ pod }) => `${pod.namespace}/${pod.uid}`));
      const keys = {
        // One that is gone is looked at too: what it wanted is forgotten then.
        nodemaintenances: [...new Set([...scope.copies.NodeMaintenance.stored.keys(), ...wants.keys()])],
        nodes: [...scope.copies.Node.stored.keys()],
        requester: [...new Set([...requestKeys, ...wantedKeys])],
        evictionrequests: requestKeys,
        imperative: requestKeys,
      };
      return {
        loops,
        keys,
        wanted: () => [...wants.values()].toSorted((a, b) => (a.maintenance < b.maintenance ? -1 : 1)),
      };
    },
  };
}
