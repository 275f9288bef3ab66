import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { DrainPlanEntry, PodType } from '../../src/api/node-maintenance.ts';
import { effectiveDrainPlan, POD_TYPES } from '../../src/decide/maintenance/drain-plan.ts';
import { DrainGroups } from '../../src/controller/cache/drain-groups.ts';
import type { Drain } from '../../src/decide/drain/overlapping-drains.ts';
import { type DrainResolution, type NodeResolution, resolveDrains } from '../../src/decide/drain/resolution.ts';
import { targetsAfter } from '../../src/decide/maintenance/drain-targets.ts';
import type { DrainPod } from '../../src/decide/pod.ts';

const NODES = ['n1', 'n2', 'n3'];
const priority = fc.integer({ min: 0, max: 6 });
const podType = fc.constantFrom<PodType>(...POD_TYPES);
const entry: fc.Arbitrary<DrainPlanEntry> = fc
  .record({ podType, podPriority: priority, app: fc.constantFrom(undefined, undefined, 'a', 'b') })
  .map(({ app, ...rest }) => (app === undefined ? rest : { ...rest, podSelector: { matchLabels: { app } } }));
const pod = fc
  .record({ podType, priority, labels: fc.constantFrom<Record<string, string>>({}, { app: 'a' }), uid: fc.uuid() })
  .map((fields): DrainPod => ({ namespace: 'default', name: fields.uid, ...fields }));
const maintenance = fc.record({
  plan: fc.array(entry, { maxLength: 4 }),
  nodes: fc.subarray(NODES, { minLength: 1 }),
  /** After how many pods have left it is made. */
  after: fc.integer({ min: 0, max: 6 }),
});
const pods = fc.record({
  n1: fc.array(pod, { maxLength: 6 }),
  n2: fc.array(pod, { maxLength: 6 }),
  n3: fc.array(pod, { maxLength: 6 }),
});

/** Drains at any point of their progress, over the nodes of these pods. */
function drainsOver(
  made: readonly {
    readonly plan: readonly DrainPlanEntry[];
    readonly nodes: readonly string[];
    readonly after: number;
  }[],
  all: Readonly<Record<string, readonly DrainPod[]>>,
): readonly Drain[] {
  return made.map(({ plan, nodes, after }, index) => {
    const effective = effectiveDrainPlan(plan);
    const recorded = targetsAfter(effective, after);
    const own = nodes.map((name) => ({ name, pods: all[name] ?? [], recorded, position: after }));
    return { name: `m${index}`, startedAt: after, plan: effective, nodes: own };
  });
}

describe('the resolution of a drain', () => {
  it('a drain is resolved the same whatever other drains share no node with it', () => {
    fc.assert(
      fc.property(fc.array(maintenance, { minLength: 1, maxLength: 6 }), pods, (made, all) => {
        const drains = drainsOver(made, all);
        const together = resolveDrains(drains);
        const nodesOf = (name: string): readonly string[] =>
          drains.find((each) => each.name === name)?.nodes.map((node) => node.name) ?? [];
        const by = (node: string): ReadonlySet<string> =>
          new Set(drains.map(({ name }) => name).filter((name) => nodesOf(name).includes(node)));
        const groups = new DrainGroups({ nodesOf, by }, new Set(drains.map(({ name }) => name)));
        for (const { name } of drains) {
          const { members } = groups.of(name);
          const apart = resolveDrains(drains.filter((each) => members.has(each.name)));
          assert.deepEqual(apart.get(name), together.get(name));
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('the resolution of a node that goes down', () => {
  it('the node is resolved the same whatever happens on other nodes, and these without it', () => {
    fc.assert(
      fc.property(fc.array(maintenance, { minLength: 1, maxLength: 5 }), pods, (made, all) => {
        const shutdown = { plan: [], nodes: ['n1'], after: 0 };
        const drains = drainsOver([...made, shutdown], all).map((drain) => {
          return drain.name === `m${made.length}` ? { ...drain, agentNode: 'n1' } : drain;
        });
        const only = (isKept: (node: string) => boolean): ReadonlyMap<string, DrainResolution> => {
          return resolveDrains(
            drains.map((each) => ({ ...each, nodes: each.nodes.filter(({ name }) => isKept(name)) })),
          );
        };
        const together = resolveDrains(drains);
        const [down, up] = [only((node) => node === 'n1'), only((node) => node !== 'n1')];
        for (const { name, nodes } of drains) {
          for (const node of nodes) {
            const of = (resolved: ReadonlyMap<string, DrainResolution>): NodeResolution | undefined => {
              return resolved.get(name)?.nodes.find((each) => each.name === node.name);
            };
            assert.deepEqual(of(together), of(node.name === 'n1' ? down : up));
          }
        }
      }),
      { numRuns: 300 },
    );
  });
});
