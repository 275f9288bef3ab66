import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { NodeSelector } from '../../src/api/meta.ts';
import type { NodeMaintenance, NodeMaintenanceStatus } from '../../src/api/node-maintenance.ts';
import type { Node, Pod } from '../../src/api/pod.ts';
import { createIndexes, type Indexes } from '../../src/controller/cache/indexes.ts';
import type { ControllerContext } from '../../src/controller/context.ts';
import { DrainObserver } from '../../src/controller/maintenance/observer.ts';
import { cacheOfMap, indexesOf } from '../support/maintenance/indexes.ts';
import { byName } from '../support/maintenance/objects.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const NODES = ['n0', 'n1', 'n2', 'n3', 'n4'] as const;
const node = fc.constantFrom(...NODES);
const maintenance = fc.constantFrom('m0', 'm1', 'm2', 'm3', 'm4', 'm5');
const rack = fc.constantFrom('a', 'b', 'c');
const selector: fc.Arbitrary<NodeSelector> = fc.oneof(
  fc.subarray([...NODES], { minLength: 1, maxLength: 2 }).map((names) => byName(...names)),
  rack.map((value) => ({
    nodeSelectorTerms: [{ matchExpressions: [{ key: 'rack', operator: 'In', values: [value] }] }],
  })),
);

/** What happens to the objects of a cluster. */
const step = fc.oneof(
  fc.record({ kind: fc.constant('node'), node, rack, isMember: fc.boolean(), isReady: fc.boolean() }),
  fc.record({ kind: fc.constant('no node'), node }),
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('pod'), pod: fc.nat(9), node, priority: fc.nat(2) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('no pod'), pod: fc.nat(9) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('maintenance'),
      maintenance,
      selector,
      stage: fc.constantFrom('Cordon', 'Drain', 'Drain', 'Drain', 'Complete'),
      second: fc.nat(3),
    }),
  },
  fc.record({ kind: fc.constant('no maintenance'), maintenance }),
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('look'), maintenance }) },
) as fc.Arbitrary<Step>;

type Step =
  | {
      readonly kind: 'node';
      readonly node: string;
      readonly rack: string;
      readonly isMember: boolean;
      readonly isReady: boolean;
    }
  | { readonly kind: 'no node'; readonly node: string }
  | { readonly kind: 'pod'; readonly pod: number; readonly node: string; readonly priority: number }
  | { readonly kind: 'no pod'; readonly pod: number }
  | {
      readonly kind: 'maintenance';
      readonly maintenance: string;
      readonly selector: NodeSelector;
      readonly stage: 'Cordon' | 'Drain' | 'Complete';
      readonly second: number;
    }
  | { readonly kind: 'no maintenance'; readonly maintenance: string }
  /** The controller looks at the maintenance, and its status is what it finds. */
  | { readonly kind: 'look'; readonly maintenance: string };

/** A cluster whose changes are noted one by one. */
class World {
  readonly #nodes = new Map<string, Node>();
  readonly #pods = new Map<string, Pod>();
  readonly #maintenances = new Map<string, NodeMaintenance>();
  readonly #kept: Indexes;
  readonly #observer: DrainObserver;
  readonly #maxParallelNodes: number | undefined;
  #version = 0;

  constructor(maxParallelNodes: number | undefined) {
    this.#maxParallelNodes = maxParallelNodes;
    const copies = {
      maintenances: cacheOfMap(this.#maintenances),
      requests: cacheOfMap(new Map<string, never>()),
      pods: cacheOfMap(this.#pods),
      nodes: cacheOfMap(this.#nodes),
    };
    this.#kept = createIndexes(copies, Date);
    this.#observer = new DrainObserver(this.#contextOf(this.#kept));
  }

  apply(change: Step): void {
    this.#version += 1;
    switch (change.kind) {
      case 'node':
        this.#nodes.set(change.node, this.#nodeOf(change));
        this.#kept.maintenances.noteNode(change.node);
        break;
      case 'no node':
        this.#nodes.delete(change.node);
        this.#kept.maintenances.noteNode(change.node);
        break;
      case 'pod':
        this.#pods.set(`n/p${change.pod}`, this.#podOf(change));
        this.#notePod(change.pod);
        break;
      case 'no pod':
        this.#pods.delete(`n/p${change.pod}`);
        this.#notePod(change.pod);
        break;
      case 'maintenance':
        this.#maintenances.set(change.maintenance, this.#maintenanceOf(change));
        this.#kept.maintenances.note(change.maintenance);
        break;
      case 'no maintenance':
        this.#maintenances.delete(change.maintenance);
        this.#kept.maintenances.note(change.maintenance);
        break;
      case 'look':
        this.#look(change.maintenance);
    }
  }

  /** Compares every answer of what was kept with that of what is made from scratch. */
  check(): void {
    const [maintenances, pods, nodes] = [this.#maintenances, this.#pods, this.#nodes].map((map) => [...map.values()]);
    const fresh = indexesOf({ maintenances, pods, nodes } as Parameters<typeof indexesOf>[0]);
    const names = (found: readonly { readonly metadata: { readonly name: string } }[]): readonly string[] =>
      found.map(({ metadata }) => metadata.name).toSorted();
    for (const name of NODES) {
      for (const kind of ['maintenances', 'pods'] as const) {
        assert.deepEqual(names(this.#kept[kind].on(name)), names(fresh[kind].on(name)), `${kind} on ${name}`);
      }
    }
    assert.deepEqual(this.#kept.nodes.controlPlane(), fresh.nodes.controlPlane());
    const observer = new DrainObserver(this.#contextOf(fresh));
    for (const [name, each] of this.#maintenances) {
      assert.deepEqual(names(this.#kept.maintenances.nodesOf(name)), names(fresh.maintenances.nodesOf(name)));
      const [kept, made] = [this.#kept, fresh].map(({ maintenances: of }) =>
        [...of.groups.of(name).members].toSorted(),
      );
      assert.deepEqual(kept, made, `the group of ${name}`);
      const [seen, expected] = [this.#observer, observer].map((by) => by.observe(each, NOW));
      assert.deepEqual(seen?.status, expected?.status, `the status of ${name}`);
      const uids = (of: typeof seen): readonly string[] =>
        (of?.resolution?.nodes ?? []).flatMap(({ evicting }) => evicting.map(({ uid }) => uid)).toSorted();
      assert.deepEqual(uids(seen), uids(expected), `what ${name} evicts`);
    }
  }

  #contextOf(indexes: Indexes): ControllerContext {
    const options = this.#maxParallelNodes === undefined ? {} : { maxParallelNodes: this.#maxParallelNodes };
    const clock = { now: () => NOW };
    return { clock, options, ungated: { on: () => [] }, ...indexes } as unknown as ControllerContext;
  }

  #notePod(pod: number): void {
    for (const name of this.#kept.pods.note(`n/p${pod}`).nodes) this.#kept.maintenances.groups.touchNode(name);
  }

  #look(name: string): void {
    const known = this.#maintenances.get(name);
    if (known === undefined) return;
    const found: NodeMaintenanceStatus = this.#observer.observe(known, NOW).status;
    this.#maintenances.set(name, { ...known, status: { ...known.status, ...found } });
    this.#kept.maintenances.note(name);
  }

  #nodeOf({ node: name, rack: value, isMember, isReady }: Extract<Step, { kind: 'node' }>): Node {
    const role: Record<string, string> = isMember ? { 'node-role.kubernetes.io/control-plane': '' } : {};
    const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'False' } as const];
    const uid = this.#nodes.get(name)?.metadata.uid ?? `${name}-${this.#version}`;
    return { metadata: { name, uid, labels: { rack: value, ...role } }, status: { conditions } };
  }

  #podOf({ pod, node: nodeName, priority }: Extract<Step, { kind: 'pod' }>): Pod {
    const uid = `p${pod}-${this.#version}`;
    return {
      metadata: { name: `p${pod}`, namespace: 'n', uid },
      spec: { nodeName, priority: priority * 1_500_000_000 },
    };
  }

  #maintenanceOf({
    maintenance: name,
    selector: nodeSelector,
    stage,
    second,
  }: Extract<Step, { kind: 'maintenance' }>): NodeMaintenance {
    const known = this.#maintenances.get(name);
    const creationTimestamp = known?.metadata.creationTimestamp ?? new Date(NOW + second * 1_000).toISOString();
    return { ...known, metadata: { name, creationTimestamp }, spec: { stage, nodeSelector } };
  }
}

describe('the indexes of the controller', () => {
  it('the indexes that changes keep up to date answer as those that are made from scratch', () => {
    fc.assert(
      fc.property(
        fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }),
        fc.constantFrom(undefined, 1, 2),
        (steps, maxParallelNodes) => {
          const world = new World(maxParallelNodes);
          for (const change of steps) {
            world.apply(change);
            world.check();
          }
        },
      ),
      { numRuns: 400 },
    );
  });
});
