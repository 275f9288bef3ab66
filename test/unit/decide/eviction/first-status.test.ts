import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { firstStatusLeftMs } from '../../../../src/decide/eviction/first-status.ts';

describe('the time that a first status waits', () => {
  it('a first status waits a second after its pod began to end, and ten seconds at most', () => {
    assert.equal(firstStatusLeftMs({ since: 0 }, 1, 0), 10_000);
    assert.equal(firstStatusLeftMs({ since: 0, endingSince: 3_000 }, 1, 3_400), 600);
    assert.equal(firstStatusLeftMs({ since: 0, endingSince: 9_900 }, 1, 10_000), 0);
  });

  it('a first status waits longer where many wait, half a minute at most, and a minute before its pod ends', () => {
    assert.equal(firstStatusLeftMs({ since: 0, endingSince: 3_000 }, 80, 3_000), 4_000);
    assert.equal(firstStatusLeftMs({ since: 0, endingSince: 3_000 }, 5_000, 3_000), 30_000);
    assert.equal(firstStatusLeftMs({ since: 0 }, 5_000, 0), 60_000);
  });
});
