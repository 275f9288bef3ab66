import assert from 'node:assert/strict';
import { it } from 'node:test';
import { MAX_RETRY_MS, refusedPauseMs } from '../../../../src/decide/eviction/back-off.ts';

it('the pause before the next eviction doubles from two seconds up to a quarter of an hour', () => {
  const pauses = [1, 2, 9, 10, 1_000_000].map((attempt) => refusedPauseMs(attempt, MAX_RETRY_MS));
  assert.deepEqual(pauses, [2_000, 4_000, 512_000, 900_000, 900_000]);
});
