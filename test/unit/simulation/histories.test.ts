/** Histories of the whole controller in virtual time, always the same ones. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { signatureOf } from '../../chaos/invariants/violation.ts';
import { playHistory } from '../../simulation/play.ts';

/** `npm run simulation -- --seconds 60` plays others. */
const SEEDS = [1, 2, 3, 4];

describe('simulated histories', () => {
  it('the same seed gives the same history, to the byte', async () => {
    const [first, second] = [await playHistory(11), await playHistory(11)];
    assert.ok(first.writes > 20, `${first.writes} writes`);
    assert.equal(first.trace.join('\n'), second.trace.join('\n'));
  });

  it('a history with an agent is the same to the byte too, and violates no invariant', async () => {
    const [first, second] = [await playHistory(8, { hasAgent: true }), await playHistory(8, { hasAgent: true })];
    assert.ok(first.trace.some((line) => line.includes('system:node:')));
    assert.equal(first.trace.join('\n'), second.trace.join('\n'));
    assert.deepEqual(first.violations, []);
  });

  for (const seed of SEEDS) {
    it(`the history of seed ${seed} violates no invariant`, async () => {
      const { violations } = await playHistory(seed);
      const found = violations.map((each) => `${signatureOf(each)}\n  ${each.detail.slice(0, 1_000)}`).join('\n');
      assert.equal(found, '', `npm run simulation -- --seed ${seed}`);
    });
  }
});
