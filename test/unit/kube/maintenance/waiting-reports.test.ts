import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createWaitingReports } from '../../../../src/kube/maintenance/waiting-reports.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

describe('the conditions that say that a drain has begun', () => {
  it('the conditions wait a second, and not where they have to say more', () => {
    const clock = createSteppingClock();
    const waiting = createWaitingReports(clock);
    assert.equal(waiting.leftMs('one', true), 1_000);
    clock.pass(400);
    assert.equal(waiting.leftMs('one', true), 600);
    assert.equal(waiting.leftMs('one', false), 0);
    assert.equal(waiting.leftMs('one', true), 1_000, 'another drain');
  });

  it('the conditions wait longer where many nodes begin, and half a minute at most', () => {
    const waiting = createWaitingReports(createSteppingClock());
    const times = Array.from({ length: 1_000 }, (_, index) => waiting.leftMs(`n-${index}`, true));
    assert.equal(times[4], 1_000);
    assert.equal(times[49], 10_000);
    assert.equal(times.at(-1), 30_000);
  });
});
