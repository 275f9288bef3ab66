import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MAX_RETRY_MS, pauseMs, refusedPauseMs } from '../../../../src/decide/eviction/back-off.ts';

const QUARTER_MS = 15 * 60_000;

describe('the pause before the next eviction', () => {
  for (const [attempts, ms] of [
    [1, 2_000],
    [2, 4_000],
    [9, 512_000],
    [10, QUARTER_MS],
    [1_000_000, QUARTER_MS],
  ] as const) {
    it(`the pause after ${attempts} refused attempts is ${ms} ms`, () => {
      assert.equal(refusedPauseMs(attempts, MAX_RETRY_MS), ms);
    });
  }

  it('the pause is as long as the answer asks for, and no longer than a quarter of an hour', () => {
    assert.equal(refusedPauseMs(1, QUARTER_MS, 60_000), 60_000);
    assert.equal(refusedPauseMs(1, QUARTER_MS, 24 * QUARTER_MS), QUARTER_MS);
    assert.equal(refusedPauseMs(9, 30_000), 30_000);
  });

  it('the pause doubles from the first one up to the longest one', () => {
    assert.deepEqual(
      [0, 1, 2, 3].map((before) => pauseMs(1_000, before, 5_000)),
      [1_000, 2_000, 4_000, 5_000],
    );
  });
});
