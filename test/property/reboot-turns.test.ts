import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { isStalled, noteProgress, type RebootProgress } from '../../src/decide/reboot/progress.ts';
import { decideTurns, type Reboot } from '../../src/decide/reboot/turns.ts';

/** For how many ticks others wait for a machine that gets no further, and how long a boot takes. */
const [PATIENCE, BOOT] = [12, 3];

interface App {
  readonly minAvailable: number;
  /** On which nodes its replicas run at first. */
  readonly on: readonly number[];
}

interface Scene {
  /** For each node when it is asked to reboot; and whether it comes back. */
  readonly nodes: readonly { readonly askedAt: number; readonly isLost: boolean }[];
  readonly apps: readonly App[];
  readonly maxParallel: number | undefined;
  /** At these ticks another controller takes over, which knows nothing but the objects. */
  readonly takeOvers: readonly number[];
}

const scenes = fc.integer({ min: 1, max: 5 }).chain((count) =>
  fc.record<Scene>({
    nodes: fc.array(fc.record({ askedAt: fc.nat(6), isLost: fc.boolean() }), { minLength: count, maxLength: count }),
    apps: fc.array(fc.record({ minAvailable: fc.nat(3), on: fc.array(fc.nat(count - 1), { maxLength: 4 }) }), {
      maxLength: 3,
    }),
    maxParallel: fc.option(fc.integer({ min: 1, max: 2 }), { nil: undefined }),
    takeOvers: fc.array(fc.nat(200), { maxLength: 3 }),
  }),
);

type MachineState = 'up' | 'asked' | 'begun' | 'away' | 'lost' | 'back';

/** A cluster of which all nodes are asked to reboot, with an Eviction API that keeps to the budgets. */
class Cluster {
  readonly states: MachineState[];
  readonly #scene: Scene;
  /** Where each replica of each application is; undefined while it has no place. */
  readonly #replicas: (number | undefined)[][];
  readonly #awaySince: number[];
  #progress = new Map<string, RebootProgress>();

  constructor(scene: Scene) {
    this.#scene = scene;
    this.states = scene.nodes.map(() => 'up');
    this.#awaySince = scene.nodes.map(() => 0);
    this.#replicas = scene.apps.map(({ on }) => [...on]);
  }

  takeOver(): void {
    this.#progress = new Map();
  }

  allowed(app: number): number {
    const healthy = (this.#replicas[app] ?? []).filter((node) => node !== undefined && !this.#isGone(node)).length;
    return Math.max(0, healthy - (this.#scene.apps[app]?.minAvailable ?? 0));
  }

  /** The open reboots as a controller sees them. */
  reboots(tick: number): readonly Reboot[] {
    const seen = this.states.flatMap((state, node): Reboot[] => {
      if (state === 'up' || state === 'back') return [];
      const needs = new Map(this.#replicas.map((on, app) => [`${app}`, on.filter((each) => each === node).length]));
      const name = `n${node}`;
      const begun = state !== 'asked';
      const podsLeft = [...needs.values()].reduce((sum, each) => sum + each, 0);
      const isGone = this.#isGone(node);
      const sight = { podsLeft, isDrained: isGone, isReady: !isGone, isOver: false };
      const progress = noteProgress(this.#progress.get(name), sight, tick);
      if (begun) this.#progress.set(name, progress);
      const stalled = begun && isStalled(progress, PATIENCE, tick);
      const createdAt = this.#scene.nodes[node]?.askedAt ?? 0;
      return [{ name, node: name, createdAt, begun, stalled, isMember: false, needs: isGone ? new Map() : needs }];
    });
    return seen;
  }

  /** One tick of all machines: evictions, places for replicas, machines that go and come back. */
  pass(tick: number): void {
    for (const [node, state] of this.states.entries()) {
      const { askedAt = 0, isLost = false } = this.#scene.nodes[node] ?? {};
      if (state === 'up' && tick >= askedAt) this.states[node] = 'asked';
      if (state === 'begun' && this.#evict(node)) {
        this.states[node] = isLost ? 'lost' : 'away';
        this.#awaySince[node] = tick;
      }
      if (state === 'away' && tick - (this.#awaySince[node] ?? 0) >= BOOT) this.states[node] = 'back';
    }
    const place = this.states.findIndex((state) => state !== 'begun' && state !== 'away' && state !== 'lost');
    if (place < 0) return;
    for (const on of this.#replicas) for (const [at, node] of on.entries()) if (node === undefined) on[at] = place;
  }

  /** Evicts what the budgets let go; returns whether nothing is left. */
  #evict(node: number): boolean {
    for (const [app, on] of this.#replicas.entries()) {
      for (const [at, each] of on.entries()) if (each === node && this.allowed(app) > 0) on[at] = undefined;
    }
    return !this.#replicas.some((on) => on.includes(node));
  }

  #isGone(node: number): boolean {
    return this.states[node] === 'away' || this.states[node] === 'lost';
  }
}

/** No budget covers more than what it allows on machines that have their turn, unless only one of them takes from it. */
function checkBudgets(cluster: Cluster, holders: readonly Reboot[], newcomer: Reboot): void {
  for (const [app, need] of newcomer.needs) {
    const others = holders.filter((each) => !each.stalled && (each.needs.get(app) ?? 0) > 0);
    if (need === 0 || others.length === 0) continue;
    const all = others.reduce((sum, { needs }) => sum + (needs.get(app) ?? 0), need);
    assert.ok(all <= cluster.allowed(Number(app)), `${newcomer.node} shares budget ${app}, which allows less`);
  }
}

/** Gives turns until all have had theirs; returns after how many ticks. */
function run(scene: Scene): number {
  const cluster = new Cluster(scene);
  const isDone = (): boolean => cluster.states.every((state) => state !== 'up' && state !== 'asked');
  for (let tick = 0; tick < 1_000; tick += 1) {
    cluster.pass(tick);
    if (isDone()) return tick;
    if (scene.takeOvers.includes(tick)) cluster.takeOver();
    const reboots = cluster.reboots(tick);
    const sight = { allowed: (app: string) => cluster.allowed(Number(app)), membersAway: [] };
    const waits = decideTurns({ ...sight, reboots, maxParallel: scene.maxParallel });
    const holders = reboots.filter(({ begun }) => begun);
    for (const reboot of reboots.filter(({ begun, name }) => !begun && !waits.has(name))) {
      checkBudgets(cluster, holders, reboot);
      holders.push(reboot);
      cluster.states[Number(reboot.node.slice(1))] = 'begun';
    }
    const counting = holders.filter(({ stalled }) => !stalled);
    if (scene.maxParallel !== undefined) {
      const older = reboots.filter(({ begun, stalled }) => begun && !stalled).length;
      assert.ok(counting.length <= Math.max(scene.maxParallel, older), 'more reboot at once than the limit says');
    }
    for (const { nodes } of waits.values()) assert.ok(nodes.length > 0, 'a reboot waits for nobody');
  }
  return Infinity;
}

describe('machines that are asked to reboot at once', () => {
  it('each gets its turn, whatever budgets allow, also where machines stay away and controllers change', () => {
    fc.assert(
      fc.property(scenes, (scene) => {
        const ticks = run(scene);
        const most = (scene.nodes.length + scene.takeOvers.length) * (PATIENCE * 6) + 20;
        assert.ok(ticks <= most, `${ticks} ticks`);
      }),
      { numRuns: 2_000 },
    );
  });
});
