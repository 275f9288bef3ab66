import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DrainPlanEntry } from '../../../../src/api/node-maintenance.ts';
import { targetsAfter } from '../../../../src/decide/maintenance/drain-targets.ts';

const MAX = 2_147_483_647;

const POSTGRES = { matchLabels: { app: 'postgres' } };

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
});
