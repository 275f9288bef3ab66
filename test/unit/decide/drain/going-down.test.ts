import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DrainPlanEntry, NodeMaintenance, PodType } from '../../../../src/api/node-maintenance.ts';
import { drainOfMaintenance } from '../../../../src/decide/drain/observed-drain.ts';
import { describeEntry, effectiveDrainPlan } from '../../../../src/decide/maintenance/drain-plan.ts';
import { recordedNode } from '../../../../src/decide/maintenance/recorded-node.ts';
import { type DrainResolution, resolveDrains } from '../../../../src/decide/drain/resolution.ts';
import { resolveSelfDrains } from '../../../../src/decide/drain/self-drain.ts';
import { drainStatus } from '../../../../src/decide/drain/status.ts';
import type { DrainPod } from '../../../../src/decide/pod.ts';
import { NO_VOLUMES } from '../../../../src/decide/volume/wait.ts';
import { drainOf, ownMaintenanceOf } from '../../../support/maintenance/objects.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const SEEN = { evacuating: 0, blocking: [], overLimit: 0, ungatedDaemonSets: [] };

function pod(name: string, podType: PodType, priority: number): DrainPod {
  return { namespace: 'default', name, uid: name, podType, priority, labels: {} };
}

/** One of each tier that is in the order of the default plan, and a workload of some priority. */
const ON_ONE: readonly DrainPod[] = [
  pod('batch', 'Default', 0),
  pod('web', 'Default', 5000),
  pod('coredns', 'Default', 2_000_000_000),
  pod('logger', 'DaemonSet', 0),
  pod('proxy', 'Static', 2_000_001_000),
];
const ON_TWO = [pod('held', 'Default', 0), pod('two-coredns', 'Default', 2_000_000_000)];

/** A person's drain of these nodes; its plan may begin lower than the default one. */
function person(name: string, nodes: readonly string[], ...priorities: readonly number[]): NodeMaintenance {
  const entries = priorities.map((podPriority): DrainPlanEntry => ({ podType: 'Default', podPriority }));
  return drainOf(name, nodes, { drainPlan: entries });
}

/** The drain that the agent of the node has made, because the machine goes down. */
function shutdown(node: string): NodeMaintenance {
  return ownMaintenanceOf(node);
}

interface Scene {
  readonly maintenances: readonly NodeMaintenance[];
  readonly pods?: Readonly<Record<string, readonly DrainPod[]>>;
  /** Pods that do not end, however long one waits. */
  readonly stay?: readonly string[];
  /** Whether the time of a deadline of the node one is over, so that every entry is due there. */
  readonly isDue?: boolean;
}

function nodesOf({ spec }: NodeMaintenance): readonly string[] {
  return spec.nodeSelector.nodeSelectorTerms[0]?.matchFields?.[0]?.values ?? [];
}

/** Maintenances that are moved on look by look, as a controller does; each look records its status. */
class Cluster {
  maintenances: readonly NodeMaintenance[];
  readonly pods: Record<string, readonly DrainPod[]>;
  readonly #stay: ReadonlySet<string>;
  readonly #isDue: boolean;
  /** The pods of the node one in the order in which they are targeted. */
  readonly order: string[] = [];

  constructor({ maintenances, pods, stay = [], isDue = false }: Scene) {
    this.maintenances = maintenances;
    this.pods = { one: ON_ONE, two: ON_TWO, three: [], ...pods };
    this.#stay = new Set(stay);
    this.#isDue = isDue;
  }

  look(): ReadonlyMap<string, DrainResolution> {
    const drains = this.maintenances.map((maintenance) => {
      const due = (name: string): number => {
        return this.#isDue && name === 'one' ? effectiveDrainPlan(maintenance.spec.drainPlan ?? []).length : 0;
      };
      const nodes = nodesOf(maintenance).map((name) => ({ name, pods: this.pods[name] ?? [], due: due(name) }));
      return drainOfMaintenance(maintenance, { nodes, isWhole: true });
    });
    const resolved = resolveDrains(drains);
    this.maintenances = this.maintenances.map((maintenance) => {
      const own = resolved.get(maintenance.metadata.name);
      const status = own === undefined ? {} : drainStatus(maintenance, own, () => SEEN, NOW);
      return { ...maintenance, status: { ...maintenance.status, ...status } };
    });
    return resolved;
  }

  /** Lets what is targeted leave, look by look, until nothing changes. */
  drain(): ReadonlyMap<string, DrainResolution> {
    for (let step = 0; step < 40; step += 1) {
      const leaving = [...this.look().values()].flatMap(({ nodes }) => nodes);
      for (const { name, evicting } of leaving) {
        const told = evicting.map((each) => each.name);
        if (name === 'one') this.order.push(...told.filter((each) => !this.order.includes(each)));
        this.pods[name] = (this.pods[name] ?? []).filter((each) => {
          return !told.includes(each.name) || this.#stay.has(each.name);
        });
      }
    }
    return this.look();
  }

  complete(name: string): void {
    this.maintenances = this.maintenances.filter(({ metadata }) => metadata.name !== name);
  }

  targets(name: string, node: string): readonly string[] {
    const found = this.maintenances.find(({ metadata }) => metadata.name === name);
    return (recordedNode(found?.status, { name: node })?.drainTargets ?? []).map(describeEntry);
  }

  position(name: string, node: string): number | undefined {
    const found = this.maintenances.find(({ metadata }) => metadata.name === name);
    return recordedNode(found?.status, { name: node })?.drainPlanPosition;
  }
}

const ALL = ['batch', 'web', 'coredns', 'logger', 'proxy'];

interface Case extends Scene {
  readonly title: string;
  /** The pods of the node one that are told to leave, in their order. */
  readonly leave: readonly string[];
}

const shared = person('shared', ['one', 'two']);
const cases: readonly Case[] = [
  {
    title: 'a drain of several nodes limits none of them while another node holds it, as long as none goes down',
    maintenances: [shared],
    stay: ['held'],
    leave: ['batch', 'web'],
  },
  {
    title: 'a node that goes down drains whole beside a drain of several nodes that another node holds',
    maintenances: [shared, shutdown('one')],
    stay: ['held'],
    leave: ALL,
  },
  {
    title: 'the plan of another drain still protects the pods of a node that goes down, without a deadline',
    maintenances: [person('low', ['one', 'two'], 1000), shutdown('one')],
    stay: ['batch'],
    leave: ['batch'],
  },
  {
    title: 'a first tier of a drain of the node alone that does not end holds the later ones, without a deadline',
    maintenances: [person('alone', ['one'], 1000), shutdown('one')],
    stay: ['batch'],
    leave: ['batch'],
  },
  {
    title: 'a deadline raises what is due for a drain of the node alone too, whose first tier does not end',
    maintenances: [person('alone', ['one'], 1000), shutdown('one')],
    stay: ['batch'],
    isDue: true,
    leave: ALL,
  },
  {
    title: 'a deadline raises what is due for a drain of several nodes too, whose plan begins low',
    maintenances: [person('low', ['one', 'two'], 1000), shutdown('one')],
    stay: ['batch', 'held'],
    isDue: true,
    leave: ALL,
  },
];

describe('a node that goes down', () => {
  for (const { title, leave, ...scene } of cases) {
    it(title, () => {
      const cluster = new Cluster(scene);
      cluster.drain();
      assert.deepEqual(cluster.order, leave);
    });
  }

  it('the drain of several nodes is as far as its last node, and drained when all of them are', () => {
    const cluster = new Cluster({ maintenances: [shared, shutdown('one')], stay: ['held'] });
    const resolved = cluster.drain();
    assert.equal(resolved.get('shutdown-one-x')?.drained, true);
    assert.equal(resolved.get('shared')?.drained, false);
    assert.equal(resolved.get('shared')?.position, 1);
    assert.equal(cluster.position('shared', 'one'), effectiveDrainPlan([]).length);
    assert.equal(cluster.position('shared', 'two'), 1);
  });

  it('the node keeps what it has reached when its own drain is over, and waits for the others again', () => {
    const cluster = new Cluster({ maintenances: [shared, shutdown('one')], stay: ['held'] });
    cluster.drain();
    const reached = cluster.targets('shared', 'one');
    cluster.complete('shutdown-one-x');
    cluster.pods['one'] = [pod('logger-2', 'DaemonSet', 0)];
    cluster.drain();
    assert.deepEqual(cluster.targets('shared', 'one'), reached);
    assert.deepEqual(cluster.targets('shared', 'two'), ['Default ≤ 1000000000']);
  });
});

describe('a node that goes down while no controller lives', () => {
  const RECORDED = [{ podType: 'Default', podPriority: 1_000_000_000 }] as const;
  const begun = (maintenance: NodeMaintenance): NodeMaintenance => {
    const of = (name: string): object => ({ nodeRef: { name }, drainTargets: RECORDED, drainPlanPosition: 1 });
    const nodeStatuses = nodesOf(maintenance).map(of) as NonNullable<NodeMaintenance['status']>['nodeStatuses'];
    return {
      ...maintenance,
      status: { drainPlanPosition: 1, ...(nodeStatuses === undefined ? {} : { nodeStatuses }) },
    };
  };
  /** The pods that leave the node one, in their order, when its agent drains it alone. */
  function order(maintenances: readonly NodeMaintenance[], stay: readonly string[] = [], isDue = false): string[] {
    const told: string[] = [];
    let left = ON_ONE;
    const seen = ({ spec }: NodeMaintenance) => {
      return { due: isDue ? effectiveDrainPlan(spec.drainPlan ?? []).length : 0, volumes: NO_VOLUMES };
    };
    for (let step = 0; step < 40; step += 1) {
      const own = resolveSelfDrains(maintenances, { name: 'one' }, left, seen);
      const leaving = own.flatMap(({ resolution }) => resolution.nodes.flatMap((node) => node.evicting));
      for (const { name } of leaving) if (!told.includes(name)) told.push(name);
      left = left.filter((each) => !leaving.includes(each) || stay.includes(each.name));
    }
    return told;
  }

  it('the agent leaves a drain of several nodes where it is, as long as the machine stays up', () => {
    assert.deepEqual(order([begun(shared)]), ['batch', 'web']);
  });

  it('the agent drains the whole node beside a drain of several nodes that nobody moves on', () => {
    assert.deepEqual(order([begun(shared), shutdown('one')]), ALL);
  });

  it('the plan of that drain still protects the pods of the node', () => {
    const low = person('low', ['one', 'two'], 1000);
    assert.deepEqual(order([begun(low), shutdown('one')], ['batch']), ['batch', 'web']);
  });

  it('a deadline raises what is due for all drains of the node', () => {
    const alone = person('alone', ['one'], 1000);
    const low = person('low', ['one', 'two'], 1000);
    assert.deepEqual(order([begun(low), alone, shutdown('one')], ['batch'], true), ALL);
  });
});
