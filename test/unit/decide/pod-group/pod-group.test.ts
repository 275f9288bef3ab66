import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod, PodDisruptionBudget } from '../../../../src/api/pod.ts';
import { budgetTooSmall, disruptionModeOf } from '../../../../src/decide/pod-group/pod-group.ts';

describe('the disruption mode of a PodGroup', () => {
  const cases: readonly (readonly [string, unknown, string])[] = [
    ['a union of Kubernetes 1.37', { all: {} }, 'all'],
    ['the other member of it', { single: {} }, 'single'],
    ['a word of Kubernetes 1.36', 'PodGroup', 'all'],
    ['the other word', 'Pod', 'single'],
    ['nothing', undefined, 'single'],
    ['null', null, 'single'],
    ['something of a later release', { some: {} }, 'single'],
  ];
  for (const [what, disruptionMode, mode] of cases) {
    it(`the mode is ${mode} for ${what}`, () => {
      assert.equal(disruptionModeOf({ metadata: { name: 'g' }, spec: { disruptionMode } }), mode);
    });
  }
});

describe('the budgets of pods that leave together', () => {
  const pods = ['a', 'b'].map((name): Pod => {
    return { metadata: { name, namespace: 'x', labels: { app: name === 'a' ? 'web' : 'db' } }, spec: {} };
  });
  const budget = (app: string | undefined, disruptionsAllowed: number): PodDisruptionBudget => ({
    metadata: { name: 'pdb', namespace: 'x' },
    spec: { selector: app === undefined ? {} : { matchLabels: { app } } },
    status: { disruptionsAllowed },
  });

  it('a budget has to allow as many disruptions as it covers pods of the group', () => {
    assert.equal(budgetTooSmall('g', pods, [budget(undefined, 2)]), undefined);
    assert.equal(budgetTooSmall('g', pods, [budget('web', 1)]), undefined);
    assert.match(
      budgetTooSmall('g', pods, [budget(undefined, 1)])?.why ?? '',
      /2 pods .* pdb allows 1 disruption for 2 of/,
    );
    assert.match(budgetTooSmall('g', pods, [budget('db', -3)])?.why ?? '', /allows 0 disruptions for 1 of them/);
  });
});
