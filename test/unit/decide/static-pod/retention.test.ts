import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { effectiveDrains, keepsParked, type RetentionFacts } from '../../../../src/decide/static-pod/retention.ts';
import type { Phase } from '../../../../src/decide/shutdown/phase.ts';

const SHUTDOWN = { mode: 'cluster', origin: 'logind', reason: '', since: 0, bootId: 'b' } as const;
const OWN = 'shutdown-n-1';
const DRAINING: Phase = { kind: 'draining', maintenance: OWN, ...SHUTDOWN };
const BOOTED: Phase = { kind: 'recovering', cause: 'boot', maintenance: OWN, ...SHUTDOWN };
const CANCELED: Phase = { kind: 'recovering', cause: 'canceled', maintenance: OWN, ...SHUTDOWN };
const WATCHING: Phase = { kind: 'watching' };
const drainOf = (maintenance: string) => ({ maintenance, reason: '', drainTargets: [] });
const FACTS: RetentionFacts = {
  phase: WATCHING,
  onBoot: 'complete',
  clusterConfigured: true,
  own: [OWN],
  drains: [drainOf(OWN), drainOf('firmware')],
  apiSilent: false,
};

const cases: [string, string, Partial<RetentionFacts>, boolean][] = [
  ['is kept while the node goes down', OWN, { phase: DRAINING }, true],
  ['is kept while the node goes down, whatever it was parked for', 'gone', { phase: DRAINING, drains: [] }, true],
  ['comes back after the boot, whatever the API server still says', OWN, { phase: BOOTED }, false],
  ['comes back after the boot without an API server', OWN, { phase: BOOTED, drains: undefined }, false],
  ['waits after the boot, if that is the policy', OWN, { phase: BOOTED, onBoot: 'wait' }, true],
  ['waits for the API server then', OWN, { phase: BOOTED, onBoot: 'wait', drains: undefined }, true],
  ['comes back when somebody has completed it', OWN, { phase: BOOTED, onBoot: 'wait', drains: [] }, false],
  ['comes back when the shutdown is called off', OWN, { phase: CANCELED, onBoot: 'wait' }, false],
  ['of an earlier shutdown comes back in the end', OWN, {}, false],
  ['without a reason waits for the API server to tell', '', { drains: undefined }, true],
  ['without a reason waits no longer for one that is silent', '', { drains: undefined, apiSilent: true }, false],
  ['with a reason waits for a silent one', 'firmware', { drains: undefined, apiSilent: true }, true],
  ['without a reason is kept while the node goes down', '', { phase: DRAINING, apiSilent: true }, true],
  ["of a person's maintenance is kept while it drains", 'firmware', {}, true],
  ["of a person's maintenance is kept over a boot", 'firmware', { phase: BOOTED }, true],
  ["of a person's maintenance comes back when that is over", 'firmware', { drains: [] }, false],
  ["of a person's maintenance is kept while the API server has not told", 'firmware', { drains: undefined }, true],
  ['comes back where there is no cluster', 'firmware', { clusterConfigured: false, drains: undefined }, false],
];

describe('a parked manifest', () => {
  for (const [name, maintenance, facts, expected] of cases) {
    it(name, () => {
      assert.equal(keepsParked(maintenance, { ...FACTS, ...facts }), expected);
    });
  }
});

describe('the drains that count', () => {
  const names = (facts: Partial<RetentionFacts>): string[] =>
    effectiveDrains({ ...FACTS, ...facts }).map(({ maintenance }) => maintenance);
  it("the drains that count leave out this node's own earlier shutdowns", () => {
    assert.deepEqual(names({}), ['firmware']);
    assert.deepEqual(names({ phase: BOOTED }), ['firmware']);
  });
  it('the drains that count have the shutdown that is under way', () => {
    assert.deepEqual(names({ phase: DRAINING }), [OWN, 'firmware']);
  });
  it('the drains that count have all of them where the policy is to wait', () => {
    assert.deepEqual(names({ phase: BOOTED, onBoot: 'wait' }), [OWN, 'firmware']);
  });
});
