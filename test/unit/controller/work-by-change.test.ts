import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { KubeObject } from '../../../src/api/meta.ts';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import { drainOf } from '../../support/maintenance/objects.ts';
import { createMemoryCluster, type MemoryCluster } from '../../support/stand-ins/memory-cluster.ts';
import { SLOW, waitFor } from '../../support/wait-for.ts';

const PODS_PER_NODE = 2;
const FEW = 15;
const MANY = 3 * FEW;
/** Looks and writes of status that happen to fall together differ from run to run; what grows with the square is far above it. */
const MARGIN = 1.5;

/** What a drain made the controller do. */
interface Work {
  /** How often it read the metadata, spec or status of an object, or what a status has of a node: the work of its rules and indexes. */
  readonly reads: number;
  /** How often a queue called the function that looks at an object. */
  readonly looks: number;
  readonly requests: number;
  /** Writes of the status of maintenances. */
  readonly statuses: number;
}

/** The object, whose parts count how often they are read. */
function counted<T extends object>(object: T, onRead: () => void): T {
  const parts = Object.entries(object).map(([name, value]): [string, PropertyDescriptor] => {
    const get = (): unknown => {
      onRead();
      return value;
    };
    return [name, { enumerable: true, configurable: true, get }];
  });
  return Object.defineProperties({}, Object.fromEntries(parts)) as T;
}

/** The maintenance, whose status counts also how often what it has of a node is read. */
function countedStatus(maintenance: NodeMaintenance, onRead: () => void): NodeMaintenance {
  const { status } = maintenance;
  if (status?.nodeStatuses === undefined) return maintenance;
  const nodeStatuses = status.nodeStatuses.map((each) => counted(each, onRead));
  return { ...maintenance, status: { ...status, nodeStatuses } };
}

/** Evicts pods at once, as an API server and kubelets do for pods that need no time to end. */
function evictAtOnce(cluster: MemoryCluster): void {
  cluster.answer = ({ method, path }) => {
    const [, name] = /\/pods\/([^/]+)\/eviction$/.exec(path) ?? [];
    if (method !== 'POST' || name === undefined) return undefined;
    cluster.remove('Pod', `default/${name}`);
    return { status: 201, message: '' };
  };
}

function isDrained({ status }: NodeMaintenance): boolean {
  return status?.conditions?.some(({ type, status }) => type === 'Drained' && status === 'True') === true;
}

async function looksOf({ context }: MemoryCluster): Promise<number> {
  const text = await context.metrics.text();
  const counts = [...text.matchAll(/^workqueue_work_duration_seconds_count\{[^}]*\} (\d+)$/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

/** A node and its pods. */
function addNode(cluster: MemoryCluster, node: string): void {
  cluster.put('Node', { metadata: { name: node } });
  for (let index = 0; index < PODS_PER_NODE; index += 1) {
    const name = `${node}-${index}`;
    const pod = { metadata: { name, namespace: 'default', uid: name }, spec: { nodeName: node } };
    cluster.put('Pod', { ...pod, status: { phase: 'Running' } } as KubeObject);
  }
}

/** Drains the nodes by these maintenances, then deletes the maintenances; returns what that took. */
async function drain(nodes: readonly string[], maintenances: readonly NodeMaintenance[]): Promise<Work> {
  const cluster = createMemoryCluster();
  const drained = new Map<string, NodeMaintenance>();
  let reads = 0;
  const onRead = (): void => void (reads += 1);
  cluster.keep = (kind, object) => {
    // Before its reads count: the test looks as often as it likes.
    const maintenance = object as KubeObject as NodeMaintenance;
    if (kind !== 'Maintenance') return counted(object, onRead);
    if (isDrained(maintenance)) drained.set(object.metadata.name, maintenance);
    return counted(countedStatus(maintenance, onRead) as KubeObject as typeof object, onRead);
  };
  evictAtOnce(cluster);
  for (const node of nodes) addNode(cluster, node);
  await using _ = cluster.lead();
  for (const maintenance of maintenances) cluster.put('Maintenance', maintenance);
  await waitFor('all maintenances are Drained', () => drained.size === maintenances.length, SLOW);
  for (const maintenance of drained.values()) {
    const metadata = { ...maintenance.metadata, deletionTimestamp: new Date().toISOString() };
    cluster.put('Maintenance', { ...maintenance, metadata });
  }
  const isGone = ({ metadata }: NodeMaintenance): boolean => cluster.get('Maintenance', metadata.name) === undefined;
  await waitFor('all maintenances are gone', () => maintenances.every(isGone), SLOW);
  const sent = cluster.requests.filter(({ path }) => !path.includes('/events'));
  const statuses = sent.filter(({ path }) => /\/nodemaintenances\/[^/]+\/status/.test(path)).length;
  return { reads, looks: await looksOf(cluster), requests: sent.length, statuses };
}

function namesOf(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `n-${index}`);
}

/** A way to drain the nodes. */
interface Shape {
  readonly maintenancesOf: (nodes: readonly string[]) => readonly NodeMaintenance[];
  /**
   * Requests for each node from the drain to the end of the completion, beside five for each pod: the cordon, its end, the
   * conditions twice; for a maintenance four more: two for its finalizer, and two for its status. Two may fall apart otherwise.
   */
  readonly mostForNode: number;
  /** Until the drain is over, with an Event of each maintenance, beside four for each pod. */
  readonly mostBesidePods: number;
  /** Writes of status for each maintenance: its beginning, its end, and one between where it takes long. */
  readonly mostStatuses: number;
}

/** The ways to drain, by what a title calls them. */
const SHAPES: Readonly<Record<string, Shape>> = {
  'a maintenance for each node': {
    maintenancesOf: (nodes) => nodes.map((node) => drainOf(`drain-${node}`, [node])),
    mostForNode: 10,
    mostBesidePods: 7,
    mostStatuses: 3,
  },
  'one maintenance for all nodes': {
    maintenancesOf: (nodes) => [drainOf('drain', nodes)],
    mostForNode: 6,
    mostBesidePods: 3,
    mostStatuses: 6,
  },
};

for (const [shape, { maintenancesOf, mostForNode, mostBesidePods, mostStatuses }] of Object.entries(SHAPES)) {
  describe(`the work of the controller for ${shape}`, () => {
    let few: Work;
    let many: Work;
    before(async () => {
      few = await drain(namesOf(FEW), maintenancesOf(namesOf(FEW)));
      many = await drain(namesOf(MANY), maintenancesOf(namesOf(MANY)));
    });

    const growsLinearly = (what: keyof Work): void => {
      const limit = few[what] * (MANY / FEW) * MARGIN;
      assert.ok(many[what] <= limit, `${FEW} nodes: ${few[what]}; ${MANY} nodes: ${many[what]}; at most ${limit}`);
    };

    it('the controller looks at most so much more often as there are more nodes', () => {
      growsLinearly('looks');
    });

    it('the controller sends at most so many more requests as there are more nodes', () => {
      growsLinearly('requests');
      growsLinearly('statuses');
    });

    it('the controller sends at most five requests for each pod and a few for each node, and few statuses of each maintenance', () => {
      const limit = FEW * (5 * PODS_PER_NODE + mostForNode);
      assert.ok(few.requests <= limit, `${few.requests} for ${FEW} nodes, at most ${limit}`);
      const most = mostStatuses * maintenancesOf(namesOf(MANY)).length;
      assert.ok(many.statuses <= most, `${many.statuses} for ${MANY} nodes, at most ${most}`);
    });

    it('the controller reads at most so many more parts of objects as there are more nodes', () => {
      growsLinearly('reads');
    });

    it(`a drain writes at most four times for a pod and ${mostBesidePods} times for a node`, async () => {
      const cluster = createMemoryCluster();
      cluster.keep = (kind, object) => {
        // A kubelet that ends a pod soon after it is told to.
        const end = (): void => cluster.remove('Pod', `default/${object.metadata.name}`);
        if (kind === 'Pod' && object.metadata.deletionTimestamp !== undefined) setTimeout(end, 50);
        return object;
      };
      for (const node of namesOf(FEW)) addNode(cluster, node);
      await using _ = cluster.lead();
      const maintenances = maintenancesOf(namesOf(FEW));
      for (const maintenance of maintenances) cluster.put('Maintenance', maintenance);
      const begun = performance.now();
      const drained = (): number => cluster.events.filter(({ reason }) => reason === 'Drained').length;
      await waitFor('all nodes are drained', () => drained() === maintenances.length, SLOW);
      const countsMayBeWritten = maintenances.length * Math.floor((performance.now() - begun) / 1_000);
      const counts = Map.groupBy(cluster.requests, ({ method, path }) => `${method} ${path.replaceAll(/n-\d+/g, 'n')}`);
      const shown = [...counts].map(([what, all]) => `${what} ${all.length}`).join(', ');
      const sent = cluster.requests.length + cluster.events.length - countsMayBeWritten;
      // A busy machine adds a few: a status is written in two steps, or a second time after a conflict. One more for each node is FEW.
      assert.ok(sent <= FEW * (4 * PODS_PER_NODE + mostBesidePods) + FEW / 3, `${sent}: ${shown}`);
    });
  });
}
