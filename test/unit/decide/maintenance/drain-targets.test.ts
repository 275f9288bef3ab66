import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DrainPlanEntry, PodType } from '../../../../src/api/node-maintenance.ts';
import { DEFAULT_DRAIN_PLAN } from '../../../../src/decide/maintenance/drain-plan.ts';
import { resolveDrains } from '../../../../src/decide/drain/resolution.ts';
import { entriesReached, targetsAfter } from '../../../../src/decide/maintenance/drain-targets.ts';
import type { DrainPod } from '../../../../src/decide/pod.ts';

const MAX = 2_147_483_647;

const POSTGRES = { matchLabels: { app: 'postgres' } };

function pod(podType: PodType, priority: number, labels: Record<string, string> = {}): DrainPod {
  return {
    namespace: 'default',
    name: `${podType}-${priority}`,
    uid: `${podType}-${priority}`,
    podType,
    priority,
    labels,
  };
}

/** One look at a drain of these nodes. */
function decideDrainTargets(
  plan: readonly DrainPlanEntry[],
  nodes: readonly { readonly name: string; readonly pods: readonly DrainPod[] }[],
  recorded: readonly DrainPlanEntry[],
): {
  readonly drainTargets: readonly DrainPlanEntry[];
  readonly evicting: Readonly<Record<string, readonly DrainPod[]>>;
  readonly pending: Readonly<Record<string, readonly DrainPod[]>>;
  readonly drained: boolean;
} {
  const position = entriesReached(plan, recorded);
  const drain = { name: 'm', startedAt: 0, plan, nodes: nodes.map((node) => ({ ...node, recorded, position })) };
  const resolution = resolveDrains([drain]).get('m');
  const of = (what: 'evicting' | 'pending'): Record<string, readonly DrainPod[]> =>
    Object.fromEntries((resolution?.nodes ?? []).map((node) => [node.name, node[what]]));
  return {
    drainTargets: resolution?.nodes[0]?.drainTargets ?? [],
    evicting: of('evicting'),
    pending: of('pending'),
    drained: resolution?.drained === true,
  };
}

describe('drain targets', () => {
  // KEP-4212, "PodTypes and Label Selectors Progression".
  const plan: DrainPlanEntry[] = [
    { podType: 'Default', podPriority: 1000 },
    { podType: 'Default', podPriority: 2000, podSelector: POSTGRES },
    { podType: 'Default', podPriority: MAX },
    { podType: 'DaemonSet', podPriority: 1000 },
    { podType: 'DaemonSet', podPriority: MAX },
    { podType: 'Static', podPriority: MAX },
  ];
  const steps: DrainPlanEntry[][] = [
    [
      { podType: 'Default', podPriority: 1000 },
      { podType: 'Default', podPriority: 1000, podSelector: POSTGRES },
    ],
    [
      { podType: 'Default', podPriority: 1000 },
      { podType: 'Default', podPriority: 2000, podSelector: POSTGRES },
    ],
    [
      { podType: 'Default', podPriority: MAX },
      { podType: 'Default', podPriority: MAX, podSelector: POSTGRES },
    ],
  ];
  steps.push([...(steps[2] ?? []), { podType: 'DaemonSet', podPriority: 1000 }]);
  steps.push([...(steps[2] ?? []), { podType: 'DaemonSet', podPriority: MAX }]);
  steps.push([...(steps[4] ?? []), { podType: 'Static', podPriority: MAX }]);

  for (const [index, expected] of steps.entries()) {
    it(`drain targets follow the progression example, step ${index + 1}`, () => {
      assert.deepEqual(targetsAfter(plan, index + 1), expected);
    });
  }

  it('drain targets stay while a targeted pod is left, and pass over entries without pods', () => {
    const nodes = [{ name: 'one', pods: [pod('Default', 0), pod('DaemonSet', 0), pod('Static', 2_000_001_000)] }];
    const first = decideDrainTargets(DEFAULT_DRAIN_PLAN, nodes, []);
    assert.deepEqual(first.drainTargets, [{ podType: 'Default', podPriority: 1_000_000_000 }]);
    assert.equal(first.evicting['one']?.length, 1);
    assert.equal(first.pending['one']?.length, 2);
    const second = decideDrainTargets(
      DEFAULT_DRAIN_PLAN,
      [{ name: 'one', pods: [pod('DaemonSet', 0), pod('Static', 2_000_001_000)] }],
      first.drainTargets,
    );
    assert.deepEqual(second.drainTargets.at(-1), { podType: 'DaemonSet', podPriority: 1_000_000_000 });
    const third = decideDrainTargets(
      DEFAULT_DRAIN_PLAN,
      [{ name: 'one', pods: [pod('Static', 2_000_001_000)] }],
      second.drainTargets,
    );
    assert.deepEqual(third.drainTargets.at(-1), { podType: 'Static', podPriority: 2_000_001_000 });
    assert.equal(third.drained, false);
  });

  it('drain targets never go back when a pod appears behind them', () => {
    const current = decideDrainTargets(
      DEFAULT_DRAIN_PLAN,
      [{ name: 'one', pods: [pod('Static', 0)] }],
      [],
    ).drainTargets;
    const again = decideDrainTargets(DEFAULT_DRAIN_PLAN, [{ name: 'one', pods: [pod('Default', 0)] }], current);
    assert.deepEqual(again.drainTargets, current);
    assert.equal(again.evicting['one']?.length, 1);
  });

  it('drain targets wait for every node of the maintenance', () => {
    const nodes = [
      { name: 'one', pods: [pod('DaemonSet', 0)] },
      { name: 'two', pods: [pod('Default', 0)] },
    ];
    const { drainTargets, pending } = decideDrainTargets(DEFAULT_DRAIN_PLAN, nodes, []);
    assert.deepEqual(drainTargets, [{ podType: 'Default', podPriority: 1_000_000_000 }]);
    assert.equal(pending['one']?.length, 1);
  });

  it('drain targets are all reached, and the node drained, when no pod is left', () => {
    const { drained, drainTargets } = decideDrainTargets(DEFAULT_DRAIN_PLAN, [{ name: 'one', pods: [] }], []);
    assert.equal(drained, true);
    assert.deepEqual(drainTargets.at(-1), { podType: 'Static', podPriority: MAX });
  });
});
