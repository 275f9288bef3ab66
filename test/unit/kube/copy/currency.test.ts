import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createCurrencyCheck } from '../../../../src/kube/copy/currency.ts';
import { createSystemClock } from '../../../../src/host/clock.ts';
import { createRecordingLog } from '../../../support/agent/recording-log.ts';

describe('the check whether the copies follow the API server', () => {
  it('the check says no while one copy does not, and logs a pause of half a minute once, with its end', () => {
    let monotonic = 0;
    let isCurrent = true;
    const clock = { ...createSystemClock(), monotonic: () => monotonic };
    const log = createRecordingLog();
    const check = createCurrencyCheck(
      { pods: { current: () => true }, nodes: { current: () => isCurrent } },
      { clock, log },
    );
    assert.equal(check(), true);
    isCurrent = false;
    for (const at of [0, 29_000]) {
      monotonic = at;
      assert.equal(check(), false);
    }
    assert.deepEqual(log.lines, []);
    for (const at of [30_000, 60_000]) {
      monotonic = at;
      assert.equal(check(), false);
    }
    assert.equal(log.lines.length, 1);
    assert.match(log.lines[0] ?? '', /decides nothing.*nodes/);
    isCurrent = true;
    assert.equal(check(), true);
    assert.equal(check(), true);
    assert.equal(log.lines.length, 2);
  });
});
