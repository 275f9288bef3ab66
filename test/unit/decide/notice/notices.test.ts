import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseNoticeTime, preciseRfc3339 } from '../../../../src/decide/time.ts';
import { decideNotices, type Notice, type NoticeOptions, withNotices } from '../../../../src/decide/notice/notices.ts';
import { providerOf } from '../../../../src/decide/notice/provider.ts';
import type { Phase, PhaseFacts } from '../../../../src/decide/shutdown/phase.ts';
import { FACTS, phaseAfter } from '../../../support/agent/phase-facts.ts';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const MINUTE = 60_000;
const OPTIONS: NoticeOptions = { leadMs: 15 * MINUTE };

function seen(over: Partial<Notice>, served = false, seenAt = NOW): Parameters<typeof decideNotices>[0][number] {
  const notice: Notice = { id: 'n', kind: 'preempt', reason: 'r', provider: 'aws', ...over };
  return { notice, seenAt, served };
}

/** The decision about one notice in a few words. */
function outcome(
  over: Partial<Notice>,
  options: Partial<NoticeOptions> = {},
  { served = false, now = NOW }: { readonly served?: boolean; readonly now?: number } = {},
): string {
  const { demand, dueAt, refused } = decideNotices([seen(over, served)], { ...OPTIONS, ...options }, now);
  if (demand !== undefined)
    return demand.deadline === undefined ? 'drain' : `drain by ${(demand.deadline - NOW) / 1000}`;
  if (dueAt !== undefined) return `at ${(dueAt - NOW) / 1000}`;
  return refused.length > 0 ? `refused: ${refused[0]?.message}` : 'nothing';
}

const BEFORE = '2026-03-01T11:59:59.999Z';
const PAST = { notBefore: Date.parse(BEFORE) };
const UNREADABLE = { unreadableTime: 'soon' };
const IN_TWO = { notBefore: NOW + 2 * MINUTE };
const table: [string, string][] = [
  [outcome({ kind: 'preempt', ...IN_TWO }), 'drain by 120'],
  [outcome({ kind: 'preempt' }), 'drain by 30'],
  [outcome({ kind: 'preempt', leastMs: 45_000 }), 'drain by 45'],
  [outcome({ kind: 'preempt', ...PAST }), 'drain by 30'],
  [outcome({ kind: 'preempt', ...UNREADABLE }), 'drain by 30'],
  [outcome({ kind: 'terminate', ...IN_TWO }), 'drain by 120'],
  [outcome({ kind: 'terminate' }), 'drain'],
  [outcome({ kind: 'terminate', leastMs: 60_000 }), 'drain by 60'],
  [outcome({ kind: 'terminate', ...PAST }), `refused: its time ${BEFORE} was over when it was seen first`],
  [outcome({ kind: 'terminate', ...UNREADABLE }), 'refused: its time "soon" cannot be read'],
  [outcome({ kind: 'reboot', notBefore: NOW + 60 * MINUTE }), 'at 2700'],
  [outcome({ kind: 'reboot', notBefore: NOW + 60 * MINUTE }, {}, { now: NOW + 45 * MINUTE }), 'drain by 3600'],
  [outcome({ kind: 'reboot', ...IN_TWO }), 'drain by 120'],
  [outcome({ kind: 'reboot' }), 'drain'],
  [outcome({ kind: 'reboot', ...UNREADABLE }), 'refused: its time "soon" cannot be read'],
];

describe('the rules about notices', () => {
  it('the rules decide by kind and time as docs/usage/reboots-and-power.md has it', () => {
    for (const [actual, expected] of table) assert.equal(actual, expected);
  });

  it('the rules do not take a drain back when its time comes', () => {
    assert.equal(outcome({ kind: 'terminate', ...IN_TWO }, {}, { now: NOW + 60 * MINUTE }), 'drain by 120');
  });

  it('the rules do not drain again after the reboot for what the machine was drained for, unless it is yet to come', () => {
    assert.equal(outcome({ kind: 'terminate' }, {}, { served: true }), 'nothing');
    assert.equal(outcome({ kind: 'reboot', ...IN_TWO }, {}, { served: true, now: NOW + 3 * MINUTE }), 'nothing');
    assert.equal(outcome({ kind: 'reboot', ...IN_TWO }, {}, { served: true, now: NOW + MINUTE }), 'drain by 120');
  });

  it("the rules count the time of a cloud by the cluster's clock, and what the cloud promises by this machine's", () => {
    // This machine's clock is an hour behind, then an hour ahead: the two minutes are over at 12:02 by the cloud.
    for (const aheadMs of [60 * MINUTE, -60 * MINUTE]) {
      const one = (over: Partial<Notice>, served = false): ReturnType<typeof decideNotices> =>
        decideNotices([seen(over, served)], OPTIONS, NOW, aheadMs);
      const inTwo = { notBefore: NOW + aheadMs + 2 * MINUTE };
      for (const kind of ['preempt', 'terminate', 'reboot'] as const) {
        assert.equal(one({ kind, ...inTwo }).demand?.deadline, NOW + 2 * MINUTE, kind);
      }
      assert.equal(one({ kind: 'preempt', leastMs: 45_000 }).demand?.deadline, NOW + 45_000);
      assert.equal(one({ kind: 'reboot', notBefore: NOW + aheadMs + 60 * MINUTE }).dueAt, NOW + 45 * MINUTE);
      assert.equal(one({ kind: 'terminate', ...inTwo }, true).demand?.deadline, NOW + 2 * MINUTE);
      const past = { notBefore: NOW + aheadMs - 1 };
      assert.equal(one({ kind: 'terminate', ...past }, true).demand, undefined);
      // People see the time that the cloud has named.
      const words = `its time ${preciseRfc3339(past.notBefore)} was over when it was seen first`;
      assert.deepEqual(one({ kind: 'terminate', ...past }).refused, [{ id: 'n', message: words }]);
    }
  });

  it('the rules let the earliest deadline win, with its reason', () => {
    const late = seen({ id: 'late', kind: 'reboot', notBefore: NOW + 10 * MINUTE, reason: 'late' });
    const never = seen({ id: 'never', kind: 'terminate', reason: 'never' });
    const soon = seen({ id: 'soon', ...IN_TWO, reason: 'soon' });
    const { demand } = decideNotices([late, never, soon], OPTIONS, NOW);
    const deadline = NOW + 2 * MINUTE;
    assert.deepEqual(demand, { ids: ['late', 'never', 'soon'], reason: 'soon', shutdownKind: 'poweroff', deadline });
  });

  it('the rules are put together with what the machine says', () => {
    const demand = { kind: 'demand', demand: { ids: ['n'], reason: 'spot', deadline: 5 } } as const;
    const yes = { kind: 'yes', origin: 'logind', reason: 'reboot' } as const;
    const byNotice = { kind: 'yes', origin: 'notice', reason: 'spot', deadline: 5 };
    assert.deepEqual(withNotices({ kind: 'no' }, demand), byNotice);
    assert.deepEqual(withNotices({ kind: 'unknown' }, demand), byNotice);
    assert.deepEqual(withNotices(yes, demand), { ...yes, deadline: 5 });
    assert.deepEqual(withNotices({ ...yes, deadline: 3 }, demand), { ...yes, deadline: 3 });
    assert.deepEqual(withNotices({ kind: 'no' }, { kind: 'unknown' }), { kind: 'unknown' });
    assert.deepEqual(withNotices(yes, { kind: 'none' }), yes);
  });
});

describe('the deadline of a drain', () => {
  const facts = (goingDown: PhaseFacts['goingDown'], now = NOW): PhaseFacts => ({ ...FACTS, now, goingDown });
  const notice = (deadline?: number): PhaseFacts['goingDown'] => {
    return { kind: 'yes', origin: 'notice', reason: 'spot', ...(deadline === undefined ? {} : { deadline }) };
  };
  const deadlineOf = (phase: Phase): unknown => (phase.kind === 'watching' ? undefined : phase.deadline);

  it('the deadline comes with the notice, only gets earlier, and outlasts the notice that had it', () => {
    let phase = phaseAfter({ kind: 'watching' }, facts(notice(NOW + 100)));
    assert.deepEqual(deadlineOf(phase), { at: NOW + 100, since: NOW });
    phase = phaseAfter(phase, facts(notice(NOW + 200), NOW + 1));
    assert.deepEqual(deadlineOf(phase), { at: NOW + 100, since: NOW });
    phase = phaseAfter(phase, facts(notice(NOW + 50), NOW + 2));
    assert.deepEqual(deadlineOf(phase), { at: NOW + 50, since: NOW + 2 });
    phase = phaseAfter(phase, facts(notice(), NOW + 3));
    assert.deepEqual(deadlineOf(phase), { at: NOW + 50, since: NOW + 2 });
  });

  it('the deadline can come later than the drain', () => {
    const phase = phaseAfter({ kind: 'watching' }, facts({ kind: 'yes', origin: 'logind', reason: 'reboot' }));
    assert.equal(deadlineOf(phase), undefined);
    assert.deepEqual(deadlineOf(phaseAfter(phase, facts(notice(NOW + 9), NOW + 1))), { at: NOW + 9, since: NOW + 1 });
  });
});

describe('times of notices', () => {
  it('times of notices are read in the three formats of the clouds and never guessed', () => {
    const at = Date.parse('2026-03-01T12:00:00Z');
    for (const text of [
      '2026-03-01T12:00:00Z',
      '2026-03-01T13:00:00+01:00',
      'Sun, 01 Mar 2026 12:00:00 GMT',
      '1 Mar 2026 12:00:00 GMT',
    ]) {
      assert.equal(parseNoticeTime(text), at, text);
    }
    assert.equal(parseNoticeTime('2026-03-01 20:00:00', '+08:00'), at);
    for (const text of ['', '0', '2026', 'tomorrow', '2026-03-01 20:00:00', '2026-13-01T12:00:00Z', '1772366400']) {
      assert.equal(parseNoticeTime(text), undefined, text);
    }
  });
});

describe('the cloud of a machine', () => {
  const facts = { manufacturer: '', model: '', serial: '', uuid: '', assetTag: '' };
  it('the cloud of a machine is known from its firmware, and look-alikes are not', () => {
    const azure = { manufacturer: 'Microsoft Corporation', assetTag: '7783-7084-3265-9085-8269-3286-77' };
    assert.equal(providerOf({ ...facts, manufacturer: 'Amazon EC2' }), 'aws');
    assert.equal(providerOf({ ...facts, manufacturer: 'Xen', uuid: '45E12AEC-DCD1-B213-94ED-012345ABCDEF' }), 'aws');
    assert.equal(providerOf({ ...facts, manufacturer: 'Xen', uuid: 'ec2e1916-9099-7caf-fd21-012345abcdef' }), 'aws');
    assert.equal(providerOf({ ...facts, model: 'Google Compute Engine' }), 'gcp');
    assert.equal(providerOf({ ...facts, ...azure }), 'azure');
    assert.equal(providerOf({ ...facts, model: 'Alibaba Cloud ECS' }), 'alibaba');
    assert.equal(providerOf({ ...facts, manufacturer: 'Tencent Cloud' }), 'tencent');
    for (const other of [
      facts,
      { ...facts, manufacturer: 'Microsoft Corporation' },
      { ...facts, manufacturer: 'Xen', uuid: '12345678-DCD1-B213-94ED-012345ABCDEF' },
      { ...facts, manufacturer: 'QEMU', model: 'Standard PC', uuid: 'ec2e1916-9099-7caf-fd21-012345abcdef' },
      { ...facts, manufacturer: 'OpenStack Foundation', model: 'OpenStack Nova' },
    ]) {
      assert.equal(providerOf(other), undefined);
    }
  });
});
