import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Phase } from '../../../../src/decide/shutdown/phase.ts';
import {
  cancelAnswer,
  type MachineCourse,
  type Trigger,
  type TriggerFacts,
} from '../../../../src/decide/shutdown/trigger.ts';
import { DRAINING, SHUTDOWN } from '../../../support/agent/phase-facts.ts';

const PREPARED: MachineCourse = { kind: 'prepared', logind: 100 };
const OWN: Trigger = { reason: 'mine' };
const UP: TriggerFacts = { phase: { kind: 'watching' }, inForce: undefined, machine: { kind: 'up' } };
const TRIGGERED: Phase = { ...DRAINING, origin: 'trigger' };
const RELEASED: Phase = { kind: 'released', releasedAt: 1, ...SHUTDOWN };
const RECOVERING: Phase = { kind: 'recovering', cause: 'canceled', ...SHUTDOWN };

const SCHEDULE: Phase = { ...DRAINING, origin: 'schedule' };
const NOTICE: Phase = { ...DRAINING, origin: 'notice' };
const SCHEDULED = { kind: 'scheduled' } as const;
const PREPARING = { phase: DRAINING, machine: PREPARED };
const OF_TRIGGER = { phase: TRIGGERED, inForce: OWN };
const OFF: Phase = { ...RECOVERING, voidLogind: 100 };

/** What is called off, where, and how that is answered; "ends:" where the shutdown that is held is over by it. */
const called: readonly [string, Partial<TriggerFacts>, RegExp][] = [
  ['nothing', {}, /^nothing: No shutdown is announced/],
  ['a shutdown that logind prepares', PREPARING, /^ends, logind 100: .*canceled;/],
  ['one that waits offline', { phase: { ...DRAINING, mode: 'offline' }, machine: PREPARED }, /^ends, logind 100/],
  ['one that the loop has not seen', { machine: PREPARED }, /^refused: .*has just begun; try again/],
  ['one a second time', { phase: OFF, machine: PREPARED }, /^nothing: The shutdown is canceled already/],
  ['one a third time', { phase: OFF }, /^nothing: The shutdown is canceled already/],
  ['one after the lock was released', { phase: RELEASED, machine: PREPARED }, /^refused: it is too late, the machine/],
  ['one whose units stop', { phase: DRAINING, machine: { kind: 'stopping' } }, /^refused: it is too late, systemd/],
  ['one of a logind that is away', { phase: DRAINING, machine: { kind: 'unknown' } }, /^refused: .*does not answer/],
  ['one that logind has dropped', { phase: DRAINING }, /^nothing: The shutdown is canceled already/],
  ['one that is scheduled for later', { machine: SCHEDULED }, /^nothing, scheduled: The scheduled/],
  ['one whose time has nearly come', { phase: SCHEDULE, machine: SCHEDULED }, /^ends, scheduled: /],
  ['a notice', { phase: NOTICE }, /^refused: a notice takes the machine away/],
  ['a notice beside logind', { phase: NOTICE, machine: PREPARED }, /^ends, logind 100: .*but a notice takes/],
  ['its trigger', OF_TRIGGER, /^ends: The shutdown is canceled;/],
  ['its trigger and logind', { ...OF_TRIGGER, machine: PREPARED }, /^ends, logind 100: /],
  ['its trigger, and not what is scheduled for tomorrow', { ...OF_TRIGGER, machine: SCHEDULED }, /^ends: The shutdown/],
];

describe('what is called off over the control socket', () => {
  for (const [what, facts, expected] of called) {
    it(what, () => {
      const answer = cancelAnswer({ ...UP, ...facts });
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
