/** Histories of machines that go down, always the same ones. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { playFleet } from '../../simulation/fleet/play.ts';

describe('simulated fleets', () => {
  it('the same seed gives the same history, to the byte, in which a machine goes down', async () => {
    const [first, second] = [await playFleet(7), await playFleet(7)];
    assert.ok(first.trace.some((line) => line.includes(' goes down')));
    assert.equal(first.trace.join('\n'), second.trace.join('\n'));
  });
});
