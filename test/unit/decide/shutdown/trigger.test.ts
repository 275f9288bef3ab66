import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Phase } from '../../../../src/decide/shutdown/phase.ts';
import { type Trigger, type TriggerFacts, triggerRefusal } from '../../../../src/decide/shutdown/trigger.ts';
import { DRAINING, SHUTDOWN } from '../../../support/agent/phase-facts.ts';

const OWN: Trigger = { by: 'group', reason: 'mine' };
const ROOTS: Trigger = { by: 'root', reason: 'of root' };
const UP: TriggerFacts = { phase: { kind: 'watching' }, inForce: undefined, goesDown: false };
const TRIGGERED: Phase = { ...DRAINING, origin: 'trigger' };
const RELEASED: Phase = { kind: 'released', releasedAt: 1, ...SHUTDOWN };
const RECOVERING: Phase = { kind: 'recovering', cause: 'canceled', ...SHUTDOWN };

/** What a member of the control group asks for, where, and how that is answered; "taken" for no refusal. */
const asked: readonly [string, number | undefined, Partial<TriggerFacts>, RegExp][] = [
  ['a trigger while nothing happens', undefined, {}, /^taken$/],
  ['a deadline of 30 s while nothing happens', 30_000, {}, /^taken$/],
  ['a deadline below 30 s', 29_999, {}, /30 s or more/],
  ['a deadline while the machine recovers', 60_000, { phase: RECOVERING }, /^taken$/],
  ['a trigger beside a shutdown of the machine', undefined, { phase: DRAINING, goesDown: true }, /^taken$/],
  ['a deadline for a shutdown of the machine', 60_000, { phase: DRAINING, goesDown: true }, /only root/],
  ['a deadline for one that the loop has not seen yet', 60_000, { goesDown: true }, /only root/],
  ['a deadline for a notice', 60_000, { phase: { ...DRAINING, origin: 'notice' } }, /only root/],
  ['a deadline for a machine that is let go', 60_000, { phase: RELEASED, inForce: OWN }, /only root/],
  ['another deadline for its own trigger', 60_000, { phase: TRIGGERED, inForce: OWN }, /^taken$/],
  ['one below 30 s for its own trigger', 1_000, { phase: TRIGGERED, inForce: OWN }, /30 s or more/],
  [
    'a deadline for its own trigger once the machine goes down',
    60_000,
    { phase: TRIGGERED, inForce: OWN, goesDown: true },
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
