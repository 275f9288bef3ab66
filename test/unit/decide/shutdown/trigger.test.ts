import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Phase } from '../../../../src/decide/shutdown/phase.ts';
import {
  cancelAnswer,
  type MachineCourse,
  type Trigger,
  type TriggerFacts,
  triggerRefusal,
} from '../../../../src/decide/shutdown/trigger.ts';
import { DRAINING, SHUTDOWN } from '../../../support/agent/phase-facts.ts';

const PREPARED: MachineCourse = { kind: 'prepared', logind: 100 };
const OWN: Trigger = { by: 'group', reason: 'mine' };
const ROOTS: Trigger = { by: 'root', reason: 'of root' };
const UP: TriggerFacts = { phase: { kind: 'watching' }, inForce: undefined, machine: { kind: 'up' } };
const TRIGGERED: Phase = { ...DRAINING, origin: 'trigger' };
const RELEASED: Phase = { kind: 'released', releasedAt: 1, ...SHUTDOWN };
const RECOVERING: Phase = { kind: 'recovering', cause: 'canceled', ...SHUTDOWN };

/** What a member of the control group asks for, where, and how that is answered; "taken" for no refusal. */
const asked: readonly [string, number | undefined, Partial<TriggerFacts>, RegExp][] = [
  ['a trigger while nothing happens', undefined, {}, /^taken$/],
  ['a deadline of 30 s while nothing happens', 30_000, {}, /^taken$/],
  ['a deadline below 30 s', 29_999, {}, /30 s or more/],
  ['a deadline while the machine recovers', 60_000, { phase: RECOVERING }, /^taken$/],
  ['a trigger beside a shutdown of the machine', undefined, { phase: DRAINING, machine: PREPARED }, /^taken$/],
  ['a deadline for a shutdown of the machine', 60_000, { phase: DRAINING, machine: PREPARED }, /only root/],
  ['a deadline for one that the loop has not seen yet', 60_000, { machine: PREPARED }, /only root/],
  ['a deadline for a notice', 60_000, { phase: { ...DRAINING, origin: 'notice' } }, /only root/],
  ['a deadline for a machine that is let go', 60_000, { phase: RELEASED, inForce: OWN }, /only root/],
  ['another deadline for its own trigger', 60_000, { phase: TRIGGERED, inForce: OWN }, /^taken$/],
  ['one below 30 s for its own trigger', 1_000, { phase: TRIGGERED, inForce: OWN }, /30 s or more/],
  [
    'a deadline for its own trigger once the machine goes down',
    60_000,
    { phase: TRIGGERED, inForce: OWN, machine: PREPARED },
    /only root/,
  ],
  ['a deadline for its own trigger after it was taken back', 60_000, { phase: TRIGGERED }, /only root/],
  ['a deadline for the trigger of root', 60_000, { phase: TRIGGERED, inForce: ROOTS }, /only root/],
  ['a trigger in the place of that of root', undefined, { phase: TRIGGERED, inForce: ROOTS }, /only root/],
];

describe('a trigger of the control group', () => {
  for (const [what, deadlineMs, facts, expected] of asked) {
    it(`${what} is ${expected.source === '^taken$' ? 'taken' : 'refused'}`, () => {
      assert.match(triggerRefusal({ by: 'group', deadlineMs }, { ...UP, ...facts }) ?? 'taken', expected);
      assert.equal(triggerRefusal({ by: 'root', deadlineMs }, { ...UP, ...facts }), undefined);
    });
  }
});

const SCHEDULE: Phase = { ...DRAINING, origin: 'schedule' };
const NOTICE: Phase = { ...DRAINING, origin: 'notice' };
const SCHEDULED = { kind: 'scheduled' } as const;
const PREPARING = { phase: DRAINING, machine: PREPARED };
const OF_GROUP = { phase: TRIGGERED, inForce: OWN };
const OF_ROOT = { phase: TRIGGERED, inForce: ROOTS };
const OFF: Phase = { ...RECOVERING, voidLogind: 100 };

/** Who calls what off, where, and how that is answered; "ends:" where the shutdown that is held is over by it. */
const called: Readonly<Record<'root' | 'group', readonly [string, Partial<TriggerFacts>, RegExp][]>> = {
  root: [
    ['nothing', {}, /^nothing: No shutdown is announced/],
    ['a shutdown that logind prepares', PREPARING, /^ends, logind 100: .*canceled;/],
    ['one that waits offline', { phase: { ...DRAINING, mode: 'offline' }, machine: PREPARED }, /^ends, logind 100/],
    ['one that the loop has not seen', { machine: PREPARED }, /^refused: .*has just begun; try again/],
    ['one a second time', { phase: OFF, machine: PREPARED }, /^nothing: The shutdown is canceled already/],
    ['one a third time', { phase: OFF }, /^nothing: The shutdown is canceled already/],
    [
      'one after the lock was released',
      { phase: RELEASED, machine: PREPARED },
      /^refused: it is too late, the machine/,
    ],
    ['one whose units stop', { phase: DRAINING, machine: { kind: 'stopping' } }, /^refused: it is too late, systemd/],
    ['one of a logind that is away', { phase: DRAINING, machine: { kind: 'unknown' } }, /^refused: .*does not answer/],
    ['one that logind has dropped', { phase: DRAINING }, /^nothing: The shutdown is canceled already/],
    ['one that is scheduled for later', { machine: SCHEDULED }, /^nothing, scheduled: The scheduled/],
    ['one whose time has nearly come', { phase: SCHEDULE, machine: SCHEDULED }, /^ends, scheduled: /],
    ['a notice', { phase: NOTICE }, /^refused: a notice takes the machine away/],
    ['a notice beside logind', { phase: NOTICE, machine: PREPARED }, /^ends, logind 100: .*but a notice takes/],
    ['its trigger', OF_ROOT, /^ends: The shutdown is canceled;/],
    ['its trigger and logind', { ...OF_ROOT, machine: PREPARED }, /^ends, logind 100: /],
    ['its trigger, and not what is scheduled for tomorrow', { ...OF_ROOT, machine: SCHEDULED }, /^ends: The shutdown/],
    ['the trigger of the group', OF_GROUP, /^ends: The shutdown is canceled;/],
  ],
  group: [
    ['its trigger', OF_GROUP, /^ends: The shutdown is canceled;/],
    ['its trigger beside logind', { ...OF_GROUP, machine: PREPARED }, /^nothing: .*goes down all/],
    ['the trigger of root', OF_ROOT, /^refused: .*only root may take it back/],
    ['a shutdown of logind', PREPARING, /^refused: the control group takes back only/],
    ['one for later', { machine: SCHEDULED }, /^refused: the control group takes back only/],
    ['nothing', {}, /^nothing: No shutdown is announced/],
  ],
};

describe('a shutdown that a client calls off', () => {
  const all = (['root', 'group'] as const).flatMap((by) => called[by].map((row) => [by, ...row] as const));
  for (const [by, what, facts, expected] of all) {
    it(`${by} calls off ${what}`, () => {
      const answer = cancelAnswer(by, { ...UP, ...facts });
      if ('refusal' in answer) {
        assert.match(`refused: ${answer.refusal}`, expected);
        return;
      }
      const { says, ends, machine } = answer;
      const atLogind =
        typeof machine === 'object' ? `, logind ${machine.logind}` : machine === undefined ? '' : `, ${machine}`;
      assert.match(`${ends ? 'ends' : 'nothing'}${atLogind}: ${says}`, expected);
    });
  }
});
