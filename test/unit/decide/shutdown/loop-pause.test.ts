import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type PauseFacts, loopPauseMs } from '../../../../src/decide/shutdown/loop-pause.ts';
import { DRAINING } from '../../../support/agent/phase-facts.ts';

const IDLE: PauseFacts = {
  phase: { kind: 'watching' },
  isBusy: false,
  noticeDueInMs: Infinity,
  shutdownBeginsInMs: Infinity,
};
const DEADLINE = { ...DRAINING, deadline: { at: 1, since: 0 } };

describe('the pause between two iterations', () => {
  const cases: [string, Partial<PauseFacts>, number][] = [
    ['is a minute while nothing happens', {}, 60_000],
    ['ends when a notice becomes due', { noticeDueInMs: 7 }, 7],
    ['ends when a scheduled shutdown begins', { shutdownBeginsInMs: 9 }, 9],
    ['is a second while pods are followed', { isBusy: true }, 1_000],
    ['is a second during a drain', { phase: DRAINING }, 1_000],
    ['is a quarter of a second before a deadline', { phase: DEADLINE, isBusy: true }, 250],
  ];
  for (const [what, facts, expected] of cases) {
    it(what, () => {
      assert.equal(loopPauseMs({ ...IDLE, ...facts }), expected);
    });
  }
});
