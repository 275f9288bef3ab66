import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseDuration } from '../../../src/decide/duration.ts';

describe('a duration', () => {
  const durations: readonly [string, number][] = [
    // As --timeout and --deadline have always taken it.
    ['90s', 90_000],
    ['20m', 1_200_000],
    ['1h30m', 5_400_000],
    ['2h1m1s', 7_261_000],
    ['0', 0],
    ['0s', 0],
    ['9999h', 35_996_400_000],
    ['999999m', 59_999_940_000],
    ['99999999s', 99_999_999_000],
    // As the controller has always taken it.
    ['1500ms', 1_500],
    ['0ms', 0],
    ['100000000s', 100_000_000_000],
    ['99999h', 359_996_400_000],
    // As uninstall-cluster has always taken it.
    ['999999s', 999_999_000],
    ['999999h', 3_599_996_400_000],
    ['0h', 0],
    // All together.
    ['1h1m1s1ms', 3_661_001],
  ];
  for (const [text, ms] of durations) {
    it(`the duration ${text} is ${ms} ms`, () => {
      assert.equal(parseDuration(text), ms);
    });
  }

  for (const text of ['', ' ', '5', '00', '-1s', '1d', '1.5h', 's', '1s1m', '1ms1s', '1s ', '1 s', '1S', '1µs']) {
    it(`the duration "${text}" is refused`, () => {
      assert.equal(parseDuration(text), undefined);
    });
  }

  it('a duration that is too long to be counted in milliseconds is refused', () => {
    assert.equal(parseDuration(`${'9'.repeat(400)}s`), undefined);
    assert.equal(parseDuration(`${Number.MAX_SAFE_INTEGER}ms`), Number.MAX_SAFE_INTEGER);
    assert.equal(parseDuration(`${Number.MAX_SAFE_INTEGER}s`), undefined);
  });
});
