import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decideShutdown, scheduledStart, type ShutdownReadings } from '../../../../src/decide/shutdown/detection.ts';

const AT = 10_000_000;
const CALM: ShutdownReadings = { now: AT, preparing: false, stopping: false, scheduled: null, leadMs: 60_000 };
const LATER = { kind: 'reboot', at: AT };

const cases: [string, Partial<ShutdownReadings>, string][] = [
  ['nothing is going on', {}, 'no'],
  ['logind prepares a shutdown', { preparing: true, stopping: true }, 'logind'],
  ['systemd stops units past logind', { stopping: true }, 'unit-stop'],
  ['systemd stops units and logind is gone', { preparing: 'unknown', stopping: true }, 'unit-stop'],
  ['logind is gone', { preparing: 'unknown' }, 'unknown'],
  ['a shutdown is scheduled for much later', { scheduled: LATER, now: AT - 60_001 }, 'no'],
  ['a scheduled shutdown is due within the lead', { scheduled: LATER, now: AT - 60_000 }, 'schedule'],
  ['its time has just come', { scheduled: LATER, now: AT + 1 }, 'schedule'],
  ['its time passed and nothing happened', { scheduled: LATER, now: AT + 60_000 }, 'no'],
  ['no lead is configured', { scheduled: LATER, leadMs: 0 }, 'no'],
  ['it is a dry run', { scheduled: { kind: 'dry-reboot', at: AT } }, 'no'],
  ['the machine will suspend', { scheduled: { kind: 'suspend', at: AT } }, 'no'],
];

describe('the detection of a shutdown', () => {
  for (const [name, readings, expected] of cases) {
    it(`the detection is "${expected}" when ${name}`, () => {
      assert.equal(decideShutdown({ ...CALM, ...readings }), expected);
    });
  }

  it('the detection begins for a schedule by the lead ahead of its time', () => {
    assert.equal(scheduledStart(LATER, 60_000), AT - 60_000);
    assert.equal(scheduledStart({ kind: 'reboot', at: null }, 60_000), undefined);
  });
});
