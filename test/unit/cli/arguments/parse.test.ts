import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseDeadline, parseTime, parseTimeout, timeLimit } from '../../../../src/cli/arguments/parse.ts';

describe('the time of a flag', () => {
  const timeouts: readonly [string, number | undefined][] = [
    ['90s', 90_000],
    ['1h30m', 5_400_000],
    ['500ms', 500],
    ['0', undefined],
    ['0s', undefined],
  ];
  for (const [text, ms] of timeouts) {
    it(`the flag makes --timeout ${text} ${ms === undefined ? 'no limit' : `${ms} ms`}`, () => {
      assert.equal(parseTimeout(text), ms);
    });
  }

  for (const text of ['', '5', '-1s', '1d', '1.5h', 's', '1s1m']) {
    it(`the flag refuses --timeout "${text}" and says what to write`, () => {
      const message = `--timeout ${text}: write numbers and units, such as 90s, 20m or 1h30m`;
      assert.throws(() => parseTimeout(text), { code: 'USAGE', message });
    });
  }

  it('a flag without a meaning of its own for zero takes zero as zero', () => {
    assert.equal(parseTime('0', '--timeout'), 0);
  });

  it('the flag refuses a deadline that is over already, or is none', () => {
    assert.equal(parseDeadline('90s'), 90_000);
    for (const text of ['0', '0s', 'soon'])
      assert.throws(() => parseDeadline(text), { code: 'USAGE', message: /--deadline/ });
  });
});

describe('a time limit', () => {
  it('a time limit ends after its time', async () => {
    const limit = timeLimit(1);
    if (!limit.aborted) await new Promise((resolve) => limit.addEventListener('abort', resolve));
    assert.ok(limit.aborted);
  });

  it('a time limit never ends where there is none', () => {
    assert.equal(timeLimit(undefined).aborted, false);
  });

  for (const hours of [600, 9999]) {
    it(`a time limit waits for ${hours} hours, which is more than a timer can wait, instead of ending at once`, async () => {
      const limit = timeLimit(hours * 3_600_000);
      await new Promise((resolve) => setTimeout(resolve, 20));
      assert.equal(limit.aborted, false);
    });
  }
});
