import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { DrainPlanEntry, PodType } from '../../src/api/node-maintenance.ts';
import { effectiveDrainPlan, POD_TYPES, targetsCover } from '../../src/decide/maintenance/drain-plan.ts';
import { resolveDrain } from '../../src/decide/drain/resolution.ts';
import type { DrainPod } from '../../src/decide/pod.ts';

const priority = fc.oneof(
  fc.integer({ min: -10, max: 20 }),
  fc.constantFrom(1_000_000_000, 2_000_000_000, 2_000_001_000),
);
const labels = fc.constantFrom<Record<string, string>>({}, { app: 'a' }, { app: 'b' });
const podType = fc.constantFrom<PodType>(...POD_TYPES);
const entry: fc.Arbitrary<DrainPlanEntry> = fc
  .record({ podType, podPriority: priority, app: fc.constantFrom(undefined, 'a', 'b') })
  .map(({ app, ...rest }) => (app === undefined ? rest : { ...rest, podSelector: { matchLabels: { app } } }));
const pod = fc
  .record({ podType, priority, labels, uid: fc.uuid() })
  .map((fields): DrainPod => ({ namespace: 'default', name: fields.uid, ...fields }));

/** Drains as the controller does, one targeted pod leaving at a time, and returns the order in which pods left. */
function drain(
  plan: readonly DrainPlanEntry[],
  pods: readonly DrainPod[],
  pick: (count: number) => number,
): DrainPod[] {
  let left = [...pods];
  let current: readonly DrainPlanEntry[] = [];
  const order: DrainPod[] = [];
  for (let step = 0; step <= pods.length; step += 1) {
    const decision = resolveDrain(plan, left, current);
    for (const known of pods) {
      assert.ok(!targetsCover(current, known) || targetsCover(decision.drainTargets, known), 'targets only grow');
    }
    current = decision.drainTargets;
    const evicting = decision.evicting;
    assert.equal(decision.drained, left.length === 0);
    if (left.length === 0) return order;
    assert.ok(evicting.length > 0, 'a drain with pods left always targets one');
    const next = evicting[pick(evicting.length)];
    assert.ok(next);
    order.push(next);
    left = left.filter((candidate) => candidate !== next);
  }
  return assert.fail('the drain did not end');
}

describe('a drain of any plan and any pods', () => {
  it('the drain ends, never takes targets back, and keeps the order of pod types', () => {
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 8 }), fc.array(pod, { maxLength: 12 }), fc.nat(), (plan, pods, seed) => {
        const order = drain(effectiveDrainPlan(plan), pods, (count) => seed % count);
        assert.equal(new Set(order.map(({ uid }) => uid)).size, pods.length);
        const types = order.map((left) => POD_TYPES.indexOf(left.podType));
        assert.deepEqual(
          types,
          types.toSorted((a, b) => a - b),
        );
      }),
      { numRuns: 500 },
    );
  });

  it('the drain takes pods of one type by rising tier of the plan', () => {
    fc.assert(
      fc.property(fc.array(pod, { maxLength: 12 }), fc.nat(), (pods, seed) => {
        const plan = effectiveDrainPlan([]);
        const order = drain(plan, pods, (count) => seed % count);
        const tiers = order.map((left) => plan.findIndex((tier) => targetsCover([tier], left)));
        assert.deepEqual(
          tiers,
          tiers.toSorted((a, b) => a - b),
        );
      }),
      { numRuns: 500 },
    );
  });
});
