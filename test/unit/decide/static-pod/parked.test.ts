import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  effectiveDrains,
  isKeptByOthers,
  keepsParked,
  type RetentionFacts,
} from '../../../../src/decide/static-pod/parked.ts';
import type { Phase } from '../../../../src/decide/shutdown/phase.ts';

const SHUTDOWN = { mode: 'cluster', origin: 'logind', reason: '', since: 0, bootId: 'b' } as const;
const OWN = 'shutdown-n-1';
const DRAINING: Phase = { kind: 'draining', maintenance: OWN, ...SHUTDOWN };
const BOOTED: Phase = { kind: 'recovering', cause: 'boot', maintenance: OWN, ...SHUTDOWN };
const CANCELED: Phase = { kind: 'recovering', cause: 'canceled', maintenance: OWN, ...SHUTDOWN };
const WATCHING: Phase = { kind: 'watching' };
const drainOf = (maintenance: string, podPriority = 2_147_483_647) => ({
  maintenance,
  reason: '',
  drainTargets: [{ podType: 'Static', podPriority } as const],
});
/** In effect, and has not reached the static pods. */
const BEGUN = { maintenance: 'firmware', reason: '', drainTargets: [{ podType: 'Default', podPriority: 0 } as const] };
const FACTS: RetentionFacts = {
  phase: WATCHING,
  onBoot: 'complete',
  clusterConfigured: true,
  own: [OWN],
  drains: [drainOf(OWN), drainOf('firmware', 0)],
  apiSilent: false,
};

const cases: [string, string, Partial<RetentionFacts>, boolean][] = [
  ['is kept while the node goes down', OWN, { phase: DRAINING }, true],
  ['is kept while the node goes down, whatever it was parked for', 'gone', { phase: DRAINING, drains: [] }, true],
  [
    'comes back after the boot, whatever the API server still says',
    OWN,
    { phase: BOOTED, drains: [drainOf(OWN), BEGUN] },
    false,
  ],
  ['stays after the boot while another drain targets the pod', OWN, { phase: BOOTED }, true],
  ['comes back after the boot without an API server', OWN, { phase: BOOTED, drains: undefined }, false],
  ['waits after the boot, if that is the policy', OWN, { phase: BOOTED, onBoot: 'wait' }, true],
  ['waits for the API server then', OWN, { phase: BOOTED, onBoot: 'wait', drains: undefined }, true],
  ['comes back when somebody has completed it', OWN, { phase: BOOTED, onBoot: 'wait', drains: [] }, false],
  ['comes back when that is called off', OWN, { phase: CANCELED, onBoot: 'wait', drains: [drainOf(OWN)] }, false],
  ['stays when the shutdown is called off while another drain targets the pod', OWN, { phase: CANCELED }, true],
  ['of an earlier shutdown comes back in the end', OWN, { drains: [drainOf(OWN)] }, false],
  ['of an earlier shutdown stays while another drain targets the pod', OWN, {}, true],
  ['of a maintenance that is over stays while another drain targets the pod', 'upgrade', {}, true],
  ['of a maintenance that is over comes back under one that has not come to it', 'upgrade', { drains: [BEGUN] }, false],
  [
    'of a maintenance that is over comes back under one that targets lower priorities only',
    'upgrade',
    { drains: [drainOf('firmware', -1)] },
    false,
  ],
  [
    'stays under its maintenance, whose targets went by the mirror pod',
    'firmware',
    { drains: [drainOf('firmware', -1)] },
    true,
  ],
  ['comes back when its maintenance begins its plan again on the node', 'firmware', { drains: [BEGUN] }, false],
  ['without a reason stays while a drain targets the pod', '', {}, true],
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
      assert.equal(keepsParked({ maintenance, priority: 0, labels: {} }, { ...FACTS, ...facts }), expected);
    });
  }
});

describe('a manifest of the shutdown that another drain keeps', () => {
  it('a manifest is not waited for where another drain keeps it, and is where the policy is to wait', () => {
    const isKept = (facts: Partial<RetentionFacts>): boolean =>
      isKeptByOthers({ maintenance: OWN, priority: 0, labels: {} }, { ...FACTS, ...facts });
    assert.equal(isKept({ phase: BOOTED }), true);
    assert.equal(isKept({ phase: BOOTED, drains: [BEGUN] }), false);
    assert.equal(isKept({ phase: BOOTED, onBoot: 'wait' }), false);
    assert.equal(isKept({ phase: DRAINING }), false);
  });
});

describe('the drains that count', () => {
  const names = (facts: Partial<RetentionFacts>): string[] =>
    effectiveDrains({ ...FACTS, ...facts }).map(({ maintenance }) => maintenance);
  it("the drains that count leave out this node's own earlier shutdowns", () => {
    assert.deepEqual(names({}), ['firmware']);
    assert.deepEqual(names({ phase: BOOTED }), ['firmware']);
  });
  it('the drains that count have the shutdown that is under way', () => {
    assert.deepEqual(names({ phase: DRAINING }), ['firmware', OWN], 'what others need parked may outlive it');
  });
  it('the drains that count have all of them where the policy is to wait', () => {
    assert.deepEqual(names({ phase: BOOTED, onBoot: 'wait' }), ['firmware', OWN]);
  });
});
