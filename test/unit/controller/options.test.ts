import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { controllerOptionsSchema } from '../../../src/controller/options.ts';

describe('the times of the controller', () => {
  const times: readonly [string, number][] = [
    ['1500ms', 1_500],
    ['90s', 90_000],
    ['20m', 1_200_000],
    ['1h', 3_600_000],
    ['1h30m', 5_400_000],
  ];
  for (const [text, ms] of times) {
    it(`the times of the controller take ${text} as ${ms} ms`, () => {
      assert.equal(controllerOptionsSchema.parse({ requestTtl: text }).requestTtl, ms);
    });
  }

  for (const text of ['', '5', '1d', '-1s']) {
    it(`the times of the controller refuse "${text}" and say what to write`, () => {
      const { error } = controllerOptionsSchema.safeParse({ requestTtl: text });
      const [issue] = error?.issues ?? [];
      assert.deepEqual(issue?.path, ['requestTtl']);
      assert.match(issue?.message ?? '', /write numbers and units, such as 90s/);
    });
  }

  it('the times of the controller let the Lease last an hour at most, which is what its policy takes', () => {
    const parse = (leaderElectLeaseDuration: string) => controllerOptionsSchema.safeParse({ leaderElectLeaseDuration });
    assert.equal(parse('1h').success, true);
    assert.equal(parse('61m').error?.issues[0]?.message, 'must be at most 1h');
  });
});
