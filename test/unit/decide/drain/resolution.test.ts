import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DrainPlanEntry, PodType } from '../../../../src/api/node-maintenance.ts';
import { describeEntry, effectiveDrainPlan } from '../../../../src/decide/maintenance/drain-plan.ts';
import type { Drain } from '../../../../src/decide/drain/overlapping-drains.ts';
import { type DrainResolution, resolveDrains } from '../../../../src/decide/drain/resolution.ts';
import type { DrainPod } from '../../../../src/decide/pod.ts';

const plan = (...priorities: readonly number[]): readonly DrainPlanEntry[] =>
  effectiveDrainPlan(priorities.map((podPriority) => ({ podType: 'Default', podPriority })));

function pods(podType: PodType, priority: number, count: number): readonly DrainPod[] {
  return Array.from({ length: count }, (_, index) => {
    const name = `${podType}-${priority}-${index}`;
    return { namespace: 'default', name, uid: name, podType, priority, labels: {} };
  });
}

/** A cluster that is drained: the pods of each node, and the drains with what their status has recorded. */
class Cluster {
  readonly nodes: Record<string, readonly DrainPod[]>;
  drains: Drain[] = [];

  constructor(nodes: Record<string, readonly DrainPod[]>) {
    this.nodes = nodes;
  }

  add(name: string, own: readonly DrainPlanEntry[], nodes: readonly string[]): void {
    const fresh = nodes.map((node) => ({ name: node, pods: [], recorded: [], position: 0 }));
    this.drains.push({ name, startedAt: this.drains.length, plan: own, nodes: fresh });
  }

  /** Takes all pods up to a priority off a node. */
  leave(node: string, priority: number): void {
    this.nodes[node] = (this.nodes[node] ?? []).filter((pod) => pod.priority > priority);
  }

  /** One look of the controller, whose result is recorded. */
  look(): ReadonlyMap<string, DrainResolution> {
    const now = this.drains.map((drain) => ({
      ...drain,
      nodes: drain.nodes.map((node) => ({ ...node, pods: this.nodes[node.name] ?? [] })),
    }));
    const resolved = resolveDrains(now);
    this.drains = now.map((drain) => {
      const own = resolved.get(drain.name);
      const nodes = drain.nodes.map((node) => {
        const { drainTargets = [], position = 0 } = own?.nodes.find(({ name }) => name === node.name) ?? {};
        return { ...node, recorded: drainTargets, position };
      });
      return { ...drain, nodes };
    });
    return resolved;
  }

  /** What a look shows of a drain, a line for each node. */
  see(name: string): readonly string[] {
    const { nodes = [] } = this.look().get(name) ?? {};
    return nodes.map((node) => {
      const targets = node.drainTargets.map(describeEntry).join(', ');
      return `${node.name}: ${targets}; ${node.evicting.length} of ${node.evicting.length + node.pending.length}; ${node.message}`;
    });
  }
}

describe('intersecting maintenances (KEP-4212, "Pod Selection and DrainTargets Example")', () => {
  const cluster = new Cluster({
    one: [...pods('Default', 5000, 10), ...pods('Default', 10_000, 30), ...pods('Default', 15_000, 70)],
    two: [...pods('Default', 5000, 7), ...pods('Default', 15_000, 9), ...pods('DaemonSet', 3000, 21)],
    three: [...pods('Default', 10_000, 25), ...pods('Default', 15_000, 45)],
    four: [...pods('Default', 2000, 5), ...pods('Default', 15_000, 20)],
  });
  cluster.add('maintenance-a', plan(5000, 15_000), ['one', 'two']);
  cluster.add('maintenance-b', plan(10_000, 15_000), ['one', 'three']);

  it('the entry with the lowest priority comes first on the node that they share', () => {
    assert.deepEqual(cluster.see('maintenance-a'), [
      'one: Default ≤ 5000; 10 of 110; Evacuating',
      'two: Default ≤ 5000; 7 of 37; Evacuating',
    ]);
    assert.deepEqual(cluster.see('maintenance-b'), [
      'one: Default ≤ 5000; 10 of 110; Evacuating (limited by maintenance-a)',
      'three: Default ≤ 10000; 25 of 70; Evacuating',
    ]);
  });

  it('the node three waits for the node one', () => {
    cluster.leave('three', 10_000);
    assert.deepEqual(cluster.see('maintenance-b'), [
      'one: Default ≤ 5000; 10 of 110; Evacuating (limited by maintenance-a)',
      'three: Default ≤ 10000; 0 of 45; Waiting for node one.',
    ]);
  });

  it('the nodes one and three wait for the node two of the other maintenance', () => {
    cluster.leave('one', 5000);
    assert.deepEqual(cluster.see('maintenance-a'), [
      'one: Default ≤ 5000; 0 of 100; Waiting for node two.',
      'two: Default ≤ 5000; 7 of 37; Evacuating',
    ]);
    assert.deepEqual(cluster.see('maintenance-b'), [
      'one: Default ≤ 5000; 0 of 100; Waiting for node two (maintenance-a).',
      'three: Default ≤ 10000; 0 of 45; Waiting for node two (maintenance-a).',
    ]);
  });

  it('the drain goes on when the node two has drained', () => {
    // The example leaves the DaemonSet pods of the node two out.
    cluster.leave('two', 5000);
    cluster.nodes['two'] = [...pods('Default', 15_000, 9), ...pods('Static', 3000, 21)];
    assert.deepEqual(cluster.see('maintenance-a'), [
      'one: Default ≤ 10000; 30 of 100; Evacuating (limited by maintenance-b)',
      'two: Default ≤ 15000; 9 of 30; Evacuating',
    ]);
    assert.deepEqual(cluster.see('maintenance-b'), [
      'one: Default ≤ 10000; 30 of 100; Evacuating',
      'three: Default ≤ 10000; 0 of 45; Waiting for node one.',
    ]);
  });

  it('a newer maintenance is fast-forwarded, and does not go back', () => {
    cluster.add('maintenance-c', plan(2000, 15_000), ['one', 'four']);
    assert.deepEqual(cluster.see('maintenance-c'), [
      'one: Default ≤ 10000; 30 of 100; Evacuating (fast-forwarded by older maintenance-b)',
      'four: Default ≤ 2000; 5 of 25; Evacuating',
    ]);
    assert.equal(cluster.look().get('maintenance-c')?.nodes[0]?.fastForwardedBy, 'maintenance-b');
  });

  it('all of the drains come to an end', () => {
    for (let step = 0; step < 200; step += 1) {
      for (const { nodes } of cluster.look().values()) {
        for (const { name, evicting } of nodes) {
          cluster.nodes[name] = (cluster.nodes[name] ?? []).filter((pod) => !evicting.includes(pod));
        }
      }
    }
    for (const { drained, nodes } of cluster.look().values()) {
      assert.ok(drained);
      assert.ok(nodes.every(({ message }) => message === 'Drained'));
    }
  });
});

describe('drains whose selectors depend on each other', () => {
  it('drains that depend on each other come to an end too', () => {
    const both = { app: 'x', tier: 'y' };
    const pod = { ...pods('Default', 500, 1)[0], labels: both } as DrainPod;
    const cluster = new Cluster({ one: [pod] });
    const entry = (matchLabels: Record<string, string>): DrainPlanEntry => ({
      podType: 'Default',
      podPriority: 1000,
      podSelector: { matchLabels },
    });
    const low: DrainPlanEntry = { podType: 'Default', podPriority: 100 };
    cluster.add('a', effectiveDrainPlan([low, entry({ app: 'x' })]), ['one']);
    cluster.add('b', effectiveDrainPlan([low, entry({ tier: 'y' })]), ['one']);
    cluster.look();
    const [node] = cluster.look().get('a')?.nodes ?? [];
    assert.equal(node?.evicting.length, 1);
  });
});
