import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DrainPlanEntry } from '../../../../src/api/node-maintenance.ts';
import {
  DEFAULT_DRAIN_PLAN,
  describeEntry,
  effectiveDrainPlan,
  planFromKubeletPriorities,
} from '../../../../src/decide/maintenance/drain-plan.ts';

const POSTGRES = { matchLabels: { app: 'postgres' } };

describe('the effective drain plan', () => {
  it('the plan is the twelve default entries where the user gives none', () => {
    assert.equal(DEFAULT_DRAIN_PLAN.length, 12);
    assert.deepEqual(effectiveDrainPlan([]), DEFAULT_DRAIN_PLAN);
  });

  it('the plan orders pod types, priorities, and concrete selectors before plain ones', () => {
    const plan: DrainPlanEntry[] = [
      { podType: 'Static', podPriority: 5 },
      { podType: 'Default', podPriority: 7 },
      { podType: 'Default', podPriority: 7, podSelector: POSTGRES },
    ];
    const order = effectiveDrainPlan(plan).map(describeEntry);
    assert.equal(order[0], `Default ≤ 7 (${JSON.stringify(POSTGRES)})`);
    assert.equal(order[1], 'Default ≤ 7');
    assert.equal(order[10], 'Static ≤ 5');
    assert.equal(order.length, 15);
  });

  it('the plan turns the kubelet floors into ceilings', () => {
    const ceilings = planFromKubeletPriorities([0, 100_000, 10_000]).filter(({ podType }) => podType === 'Default');
    const podPrioritys = ceilings.map(({ podPriority }) => podPriority);
    assert.deepEqual(podPrioritys, [9_999, 99_999]);
  });
});
