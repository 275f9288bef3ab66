/** Two histories of the whole controller in virtual time; the gate plays others with `npm run simulation`. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { playHistory } from '../../simulation/play.ts';

describe('simulated histories', () => {
  it('the same seed gives the same history, to the byte, and it violates no invariant', async () => {
    const [first, second] = [await playHistory(11), await playHistory(11)];
    assert.ok(first.writes > 20, `${first.writes} writes`);
    assert.equal(first.trace.join('\n'), second.trace.join('\n'));
    assert.deepEqual(first.violations, []);
  });

  it('a history with an agent is the same to the byte too, and violates no invariant', async () => {
    const [first, second] = [await playHistory(8, { hasAgent: true }), await playHistory(8, { hasAgent: true })];
    assert.ok(first.trace.some((line) => line.includes('system:node:')));
    assert.equal(first.trace.join('\n'), second.trace.join('\n'));
    assert.deepEqual(first.violations, []);
  });
});
