/** Histories of the whole controller in virtual time: some that are always the same, and a new one each time. */
import assert from 'node:assert/strict';
import process from 'node:process';
import { describe, it } from 'node:test';
import { signatureOf } from '../../chaos/invariants/violation.ts';
import { playHistory } from '../../simulation/play.ts';

/** Played in each run; `npm run simulation -- --seeds 1000` plays as many as there is time for. */
const FIXED = [1, 2, 3, 4, 5, 6, 7, 8];
const FRESH = Number(process.env['NODEMAINT_SEED'] ?? Math.floor(Math.random() * 1e9));

describe('simulated histories', () => {
  it('the same seed gives the same history, to the byte', async () => {
    const [first, second] = [await playHistory(11), await playHistory(11)];
    assert.ok(first.writes > 20, `${first.writes} writes`);
    assert.equal(first.trace.join('\n'), second.trace.join('\n'));
  });

  for (const seed of [...FIXED, FRESH]) {
    it(`the history of seed ${seed} violates no invariant`, async () => {
      const { violations } = await playHistory(seed);
      const found = violations.map((each) => `${signatureOf(each)}\n  ${each.detail.slice(0, 1_000)}`).join('\n');
      assert.equal(found, '', `npm run simulation -- --seed ${seed}`);
    });
  }
});
