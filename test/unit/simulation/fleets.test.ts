/** Histories of machines that go down, always the same ones. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Step } from '../../chaos/history.ts';
import { playFleet } from '../../simulation/fleet/play.ts';

describe('simulated fleets', () => {
  it('the same seed gives the same history, to the byte, in which a machine goes down', async () => {
    const [first, second] = [await playFleet(7), await playFleet(7)];
    assert.ok(first.trace.some((line) => line.includes(' goes down')));
    assert.equal(first.trace.join('\n'), second.trace.join('\n'));
  });

  const EVER = { node: 0, ms: 1_000_000_000 };
  const away: readonly [string, Step][] = [
    ['its kubelet is stopped', { do: 'stop kubelet', with: EVER }],
    ['its runtime is away', { do: 'disturb runtime', with: { ...EVER, how: 'away' } }],
  ];
  for (const [when, step] of away)
    it(`a machine goes down although ${when} for ever, and ends what was told to end or names it`, async () => {
      const steps = [{ do: 'shut down', with: { node: 0, kind: 'reboot', awayMs: 60_000 } }, step];
      for (const seed of [2, 154]) {
        const { violations, trace } = await playFleet(seed, { steps });
        assert.deepEqual(violations, []);
        assert.ok(trace.some((line) => line.includes('n0 goes down')));
      }
    });
});
