import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { LabelSelector } from '../../src/api/meta.ts';
import type { DrainPlanEntry, NodeMaintenance, NodeStatus, PodType } from '../../src/api/node-maintenance.ts';
import { drainOfMaintenance } from '../../src/decide/drain/observed-drain.ts';
import { effectiveDrainPlan, POD_TYPES, targetsCover } from '../../src/decide/maintenance/drain-plan.ts';
import { type DrainResolution, resolveDrains } from '../../src/decide/drain/resolution.ts';
import { drainStatus } from '../../src/decide/drain/status.ts';
import { targetsAfter } from '../../src/decide/maintenance/drain-targets.ts';
import type { DrainPod } from '../../src/decide/pod.ts';
import { drainOf } from '../support/maintenance/objects.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const NODES = ['n1', 'n2', 'n3'] as const;
const priority = fc.constantFrom(-2_147_483_648, -7, -1, 0, 1, 5, 1_000_000_000, 1_000_000_001, 2_147_483_647);
const podType = fc.constantFrom<PodType>(...POD_TYPES);
const podSelector = fc.constantFrom<LabelSelector>(
  { matchLabels: { app: 'a' } },
  { matchExpressions: [{ key: 'app', operator: 'In', values: ['a', 'b'] }] },
  { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['a'] }] },
  { matchLabels: { app: 'b' }, matchExpressions: [{ key: 'tier', operator: 'Exists' }] },
  { matchExpressions: [{ key: 'tier', operator: 'DoesNotExist' }] },
  {},
);
const plainEntry: fc.Arbitrary<DrainPlanEntry> = fc.record({ podType, podPriority: priority });
const anyEntry: fc.Arbitrary<DrainPlanEntry> = fc.oneof(
  plainEntry,
  fc.record({ podType, podPriority: priority, podSelector }),
);
const labels = fc.constantFrom<Record<string, string>>({}, { app: 'a' }, { app: 'b' }, { app: 'b', tier: 'x' });
const podsOfNode = fc.array(fc.record({ podType, priority, labels }), { maxLength: 6 });

type PodKind = Omit<DrainPod, 'uid' | 'name' | 'namespace'>;

/** What happens between two looks of the controller. */
type Step =
  | { readonly kind: 'leave'; readonly pick: number }
  | { readonly kind: 'select' | 'unselect'; readonly maintenance: number; readonly node: number }
  | { readonly kind: 'register'; readonly node: number; readonly pods: readonly PodKind[] }
  | { readonly kind: 'complete'; readonly maintenance: number };

const index = fc.nat({ max: 2 });
const leave: fc.Arbitrary<Step> = fc.record({ kind: fc.constant('leave'), pick: fc.nat() });
const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: leave, weight: 5 },
  { arbitrary: fc.record({ kind: fc.constantFrom('select', 'unselect'), maintenance: index, node: index }), weight: 3 },
  { arbitrary: fc.record({ kind: fc.constant('register'), node: index, pods: podsOfNode }), weight: 1 },
  { arbitrary: fc.record({ kind: fc.constant('complete'), maintenance: index }), weight: 1 },
);

interface History {
  /** The pods of each node at the beginning. */
  readonly pods: readonly (readonly PodKind[])[];
  readonly changes: readonly Step[];
}

interface Member {
  readonly uid: string;
  readonly pods: readonly DrainPod[];
  readonly status: NodeStatus | undefined;
}

/** Maintenances as the controller drains them, over nodes that come and go. */
class World {
  readonly #nodes = new Map<string, { readonly uid: string; pods: readonly DrainPod[] }>();
  readonly #maintenances: NodeMaintenance[];
  readonly #selected: readonly Set<string>[];
  #count = 0;

  constructor(plans: readonly (readonly DrainPlanEntry[])[], pods: readonly (readonly PodKind[])[]) {
    this.#maintenances = plans.map((drainPlan, at) => drainOf(`m${at}`, NODES, { drainPlan }));
    this.#selected = plans.map(() => new Set<string>());
    for (const [at, name] of NODES.entries()) this.#register(name, pods[at] ?? []);
  }

  #register(name: string, pods: readonly PodKind[]): void {
    const made = pods.map((pod) => {
      this.#count += 1;
      return { ...pod, namespace: 'n', name: `p${this.#count}`, uid: `p${this.#count}` };
    });
    this.#count += 1;
    this.#nodes.set(name, { uid: `uid-${this.#count}`, pods: made });
  }

  apply(change: Step, evicting: readonly DrainPod[]): void {
    if (change.kind === 'leave') {
      const gone = evicting[change.pick % evicting.length];
      for (const node of this.#nodes.values()) node.pods = node.pods.filter(({ uid }) => uid !== gone?.uid);
      return;
    }
    if (change.kind === 'register') {
      this.#register(NODES[change.node] ?? '', change.pods);
      return;
    }
    const selected = this.#selected[change.maintenance];
    if (change.kind === 'complete') selected?.clear();
    else if (change.kind === 'select') selected?.add(NODES[change.node] ?? '');
    else selected?.delete(NODES[change.node] ?? '');
  }

  /** The plan of a maintenance, its nodes, and what is recorded of these. */
  members(): ReadonlyMap<
    string,
    { readonly plan: readonly DrainPlanEntry[]; readonly on: ReadonlyMap<string, Member> }
  > {
    return new Map(
      this.#maintenances.map(({ metadata, spec, status }, at) => {
        const on = [...(this.#selected[at] ?? [])].map((name): readonly [string, Member] => {
          const { uid = '', pods = [] } = this.#nodes.get(name) ?? {};
          const known = status?.nodeStatuses?.find(({ nodeRef }) => nodeRef.name === name && nodeRef.uid === uid);
          return [name, { uid, pods, status: known }];
        });
        return [metadata.name, { plan: effectiveDrainPlan(spec.drainPlan ?? []), on: new Map(on) }];
      }),
    );
  }

  /** One look of the controller, whose result is recorded. */
  look(): ReadonlyMap<string, DrainResolution> {
    const drains = this.#maintenances.map((maintenance, at) => {
      const nodes = [...(this.#selected[at] ?? [])].map((name) => ({
        name,
        uid: '',
        pods: [],
        due: 0,
        ...this.#nodes.get(name),
      }));
      return drainOfMaintenance(maintenance, { nodes, isWhole: true });
    });
    const resolved = resolveDrains(drains);
    const seen = { evacuating: 0, blocking: [], overLimit: 0, ungatedDaemonSets: [] };
    for (const [at, maintenance] of this.#maintenances.entries()) {
      const own = resolved.get(maintenance.metadata.name);
      if (own === undefined) continue;
      const status = structuredClone(drainStatus(maintenance, own, () => seen, NOW));
      this.#maintenances[at] = { ...maintenance, status: { ...maintenance.status, ...status } };
    }
    return resolved;
  }
}

type Members = ReturnType<World['members']>;

const evictingOf = (resolved: ReadonlyMap<string, DrainResolution>): readonly DrainPod[] =>
  [...resolved.values()].flatMap(({ nodes }) => nodes.flatMap(({ evicting }) => evicting));

function tierOf(plan: readonly DrainPlanEntry[], pod: DrainPod): number {
  return plan.findIndex((_, at) => targetsCover(targetsAfter(plan, at + 1), pod));
}

/** Positions and targets of a node that stays only grow; one that is new begins at the beginning. */
function assertProgress(before: Members, after: Members): void {
  for (const [name, { plan, on }] of after) {
    for (const [node, { status, uid, pods }] of on) {
      const old = before.get(name)?.on.get(node);
      if (old?.status === undefined || old.uid !== uid) continue;
      assert.ok((status?.drainPlanPosition ?? 0) >= (old.status.drainPlanPosition ?? 0), 'a position only grows');
      const lost = pods.filter((pod) => targetsCover(old.status?.drainTargets ?? [], pod));
      assert.ok(
        lost.every((pod) => targetsCover(status?.drainTargets ?? [], pod)),
        'a target is not taken back',
      );
      assert.ok((status?.drainPlanPosition ?? 0) <= plan.length);
    }
  }
}

/**
 * No pod is targeted for the first time while one of an earlier entry is left: on its node, for each of its drains; on all
 * nodes of a drain that has gone on to the pod's entry just now.
 */
function assertOrder(before: Members, after: Members): void {
  const wasTargeted = (node: string, pod: DrainPod): boolean =>
    [...before.values()].some(({ on }) => targetsCover(on.get(node)?.status?.drainTargets ?? [], pod));
  for (const [name, { plan, on }] of after) {
    const all = [...on.values()].flatMap(({ pods }) => pods);
    for (const [node, { status, pods }] of on) {
      const reached = before.get(name)?.on.get(node)?.status?.drainPlanPosition ?? 0;
      for (const pod of pods) {
        if (!targetsCover(status?.drainTargets ?? [], pod) || wasTargeted(node, pod)) continue;
        const tier = tierOf(plan, pod);
        const around = tier >= Math.max(1, reached) ? all : pods;
        const earlier = around.filter((other) => tierOf(plan, other) < tier);
        assert.deepEqual(earlier, [], 'nothing leaves before what the plan has first');
      }
    }
  }
}

function run(plans: readonly (readonly DrainPlanEntry[])[], { pods, changes }: History, isOrdered: boolean): void {
  const world = new World(plans, pods);
  let evicting: readonly DrainPod[] = [];
  const look = (): void => {
    const before = world.members();
    evicting = evictingOf(world.look());
    const after = world.members();
    assertProgress(before, after);
    if (isOrdered) assertOrder(before, after);
    world.look();
    assert.deepEqual(world.members(), after, 'a second look changes nothing');
  };
  for (const change of changes) {
    world.apply(change, evicting);
    look();
  }
  for (let left = Infinity; left > 0; ) {
    left = [...world.members().values()].flatMap(({ on }) => [...on.values()].flatMap(({ pods }) => pods)).length;
    assert.ok(left === 0 || evicting.length > 0, 'where pods are left, some are being evicted');
    world.apply({ kind: 'leave', pick: left }, evicting);
    look();
  }
}

const history: fc.Arbitrary<History> = fc.record({
  pods: fc.array(podsOfNode, { minLength: 3, maxLength: 3 }),
  changes: fc.array(step, { maxLength: 40 }),
});

describe('drains over nodes that join, leave and register again', () => {
  it('the nodes of one maintenance keep its plan in order, never go back, and come to an end', () => {
    fc.assert(
      fc.property(fc.array(anyEntry, { maxLength: 5 }), history, (plan, changes) => run([plan], changes, true)),
      { numRuns: 1_000 },
    );
  });

  it('the nodes of several maintenances keep all of their plans in order where no selectors differ', () => {
    const plans = fc.array(fc.array(plainEntry, { maxLength: 4 }), { minLength: 2, maxLength: 3 });
    fc.assert(
      fc.property(plans, history, (all, changes) => run(all, changes, true)),
      { numRuns: 1_000 },
    );
  });

  it('the nodes of several maintenances never go back, and come to an end, whatever their selectors', () => {
    const plans = fc.array(fc.array(anyEntry, { maxLength: 4 }), { minLength: 2, maxLength: 3 });
    fc.assert(
      fc.property(plans, history, (all, changes) => run(all, changes, false)),
      { numRuns: 1_000 },
    );
  });
});
