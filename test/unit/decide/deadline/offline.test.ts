import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { effectiveDrainPlan } from '../../../../src/decide/maintenance/drain-plan.ts';
import { resolveDrain } from '../../../../src/decide/drain/resolution.ts';
import { decideOfflineDeadline } from '../../../../src/decide/deadline/offline.ts';

const WEB = {
  namespace: 'n',
  name: 'web',
  uid: 'web',
  podType: 'Default',
  priority: 0,
  labels: {},
  graceSec: 600,
} as const;
const CRITICAL = { ...WEB, name: 'critical', uid: 'critical', priority: 2_000_000_000 } as const;
const STATIC = { ...WEB, name: 'static', uid: 'static', podType: 'Static', graceSec: 10 } as const;
const PODS = [WEB, CRITICAL, STATIC];

describe('the deadline of a drain without an API server', () => {
  const at = (now: number): readonly string[] => {
    const { position } = decideOfflineDeadline({ since: 0, at: 100_000 }, PODS, [], now);
    return resolveDrain(effectiveDrainPlan([]), PODS, [], position).evicting.map(({ name }) => name);
  };

  it('the deadline makes one tier after the other leave, whatever is still there before it', () => {
    assert.deepEqual(at(0), ['web']);
    assert.deepEqual(at(39_000), ['web', 'critical']);
    assert.deepEqual(at(77_999), ['web', 'critical']);
    assert.deepEqual(at(78_000), ['web', 'critical', 'static']);
  });

  it('a drain without a deadline goes on from the targets that it has recorded', () => {
    const plan = effectiveDrainPlan([]);
    const { drainTargets } = resolveDrain(plan, [CRITICAL, STATIC], []);
    const { evicting, drained } = resolveDrain(plan, PODS, drainTargets);
    assert.deepEqual([evicting.map(({ name }) => name), drained], [['web', 'critical'], false]);
    assert.equal(resolveDrain(plan, [], drainTargets).drained, true);
  });

  it('the deadline shortens grace periods to what is left, and never makes one longer', () => {
    const gracesAt = (now: number): readonly (number | undefined)[] => {
      const { graces } = decideOfflineDeadline({ since: 0, at: 100_000 }, PODS, [], now);
      return PODS.map(({ uid }) => graces.get(uid));
    };
    const [web = 0, critical = 0, last] = gracesAt(0);
    assert.ok(web >= 30 && web < 39, `${web} s`);
    assert.equal(critical, web);
    assert.equal(last, 10);
    assert.ok((gracesAt(60_000)[0] ?? web) < web);
  });
});
