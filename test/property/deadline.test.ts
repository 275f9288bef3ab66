import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  type BudgetTier,
  budgetTiers,
  type Deadline,
  dueTiers,
  graceSecFor,
  graceWithin,
  tierDues,
} from '../../src/decide/deadline/tiers.ts';
import { effectiveDrainPlan } from '../../src/decide/maintenance/drain-plan.ts';

const tier = (podType: BudgetTier['podType']): fc.Arbitrary<BudgetTier> =>
  fc.record({ podType: fc.constant(podType), graceSec: fc.integer({ min: 0, max: 3600 }) });
const tiersOfAll = fc
  .tuple(
    fc.array(tier('Default'), { maxLength: 5 }),
    fc.array(tier('DaemonSet'), { maxLength: 3 }),
    fc.array(tier('Static'), { maxLength: 3 }),
  )
  .map((parts) => parts.flat());
const deadline: fc.Arbitrary<Deadline> = fc
  .tuple(fc.integer({ min: 0, max: 2_000_000_000_000 }), fc.integer({ min: 1, max: 7_200_000 }))
  .map(([since, ms]) => ({ since, at: since + ms }));

describe('the budget of a deadline', () => {
  it('the budget never makes a grace period longer, and leaves at least a second of it', () => {
    fc.assert(
      fc.property(deadline, tiersOfAll, fc.double({ min: 0, max: 2, noNaN: true }), (until, tiers, part) => {
        const now = until.since + (until.at - until.since) * part;
        const budgets = budgetTiers(until, tiers, now);
        assert.equal(budgets.length, tiers.length);
        budgets.forEach((budget, index) => {
          const own = tiers[index]?.graceSec ?? 0;
          assert.ok(budget <= own && budget >= Math.min(own, 1), `${budget} of ${own}`);
        });
      }),
    );
  });

  it('the budget shortens nothing where there is time for all', () => {
    fc.assert(
      fc.property(fc.nat(2_000_000_000), tiersOfAll, (since, tiers) => {
        const needed = tiers.reduce((sum, { graceSec }) => sum + graceSec * 1000 + 2_000, 0);
        const until = { since, at: since + needed * 4 + 20_000 };
        assert.deepEqual(
          budgetTiers(until, tiers, since),
          tiers.map(({ graceSec }) => graceSec),
        );
      }),
    );
  });

  it('the budget fits into the time, where each tier can have more than its second', () => {
    fc.assert(
      fc.property(fc.nat(2_000_000_000), tiersOfAll, fc.integer({ min: 60_000, max: 600_000 }), (since, tiers, ms) => {
        const until = { since, at: since + ms };
        const sum = budgetTiers(until, tiers, since).reduce((total, sec) => total + sec * 1000, 0);
        assert.ok(sum <= ms, `${sum} of ${ms}`);
      }),
    );
  });

  it('the budget is never less for more time', () => {
    fc.assert(
      fc.property(fc.nat(2_000_000_000), tiersOfAll, fc.nat(600_000), fc.nat(600_000), (since, tiers, a, b) => {
        const [short, long] = [Math.min(a, b), Math.max(a, b)];
        const less = budgetTiers({ since, at: since + short }, tiers, since);
        const more = budgetTiers({ since, at: since + long }, tiers, since);
        less.forEach((budget, index) => {
          if (tiers[index]?.podType !== 'Static') assert.ok((more[index] ?? 0) >= budget);
        });
      }),
    );
  });

  it('the tiers are due in their order, none before the notice, the last not after the deadline', () => {
    fc.assert(
      fc.property(deadline, tiersOfAll, (until, tiers) => {
        const dues = tierDues(until, tiers);
        assert.equal(dues.length, tiers.length);
        dues.forEach((due, index) => {
          assert.ok(due >= until.since - 1e-3 && due <= until.at, `${due - until.since} of ${until.at - until.since}`);
          assert.ok(due >= (dues[index - 1] ?? 0), 'a later tier is never told to end before an earlier one');
        });
      }),
    );
  });

  it('the last tier is told in time for its SIGKILL, where there is any time', () => {
    fc.assert(
      fc.property(fc.nat(2_000_000_000), tiersOfAll, fc.integer({ min: 3_000, max: 600_000 }), (since, tiers, ms) => {
        const last = tierDues({ since, at: since + ms }, tiers).at(-1) ?? since;
        assert.ok(last <= since + ms - Math.min(10_000, ms / 10) - 2_500 + 1e-3 || last === since, `${last - since}`);
      }),
    );
  });

  it('the budget spreads tiers over a notice that is too short for all, instead of leaving the last ones out', () => {
    const [web, critical] = [60, 60].map((graceSec): BudgetTier => ({ podType: 'Default', graceSec }));
    const statics = [10, 600].map((graceSec): BudgetTier => ({ podType: 'Static', graceSec }));
    assert.ok(web !== undefined && critical !== undefined);
    assert.deepEqual(tierDues({ since: 0, at: 5_000 }, [web, critical, ...statics]), [0, 750, 1_500, 2_000]);
    assert.deepEqual(tierDues({ since: 0, at: 1_000 }, [web, critical, ...statics]), [0, 0, 0, 0]);
    assert.deepEqual(tierDues({ since: 0, at: 1 }, [{ podType: 'Default', graceSec: 0 }]), [0]);
    assert.deepEqual(tierDues({ since: 0, at: 600_000 }, [web, { ...critical, graceSec: 10 }]), [516_000, 578_000]);
  });

  it('a tier that is due waits for the pods before it to be told, and not for ever', () => {
    const pod = { podType: 'Default', priority: 0, labels: {}, graceSec: 60 } as const;
    const critical = { ...pod, priority: 2_000_000_000 } as const;
    const plan = effectiveDrainPlan([]);
    const positionAt = (now: number, isTold: boolean): number =>
      dueTiers(
        plan,
        [
          { ...pod, isTold },
          { ...critical, isTold: false },
        ],
        { since: 0, at: 5_000 },
        now,
      ).position;
    // The second tier is due after 2 s, the least that it needs before the end.
    assert.deepEqual([positionAt(1_999, true), positionAt(2_000, true)], [1, 2]);
    assert.deepEqual([positionAt(2_499, false), positionAt(2_500, false)], [1, 2]);
    const { nextAt } = dueTiers(plan, [{ ...pod, isTold: false }, critical], { since: 0, at: 5_000 }, 2_100);
    assert.equal(nextAt, 2_500);
  });

  it('the pods of one tier get the same budget, of which each takes no more than its own', () => {
    const pod = { podType: 'Default', priority: 0, labels: {}, graceSec: 600 } as const;
    const other = { ...pod, podType: 'Static', graceSec: 30 } as const;
    const until = { since: 0, at: 120_000 };
    assert.equal(graceSecFor(pod, { pods: [pod, other], plan: [] }, until, 0), 76);
    assert.equal(graceSecFor({ ...pod, graceSec: 10 }, { pods: [pod, other], plan: [] }, until, 0), 10);
    assert.equal(graceWithin(0, 5), 0);
  });
});
