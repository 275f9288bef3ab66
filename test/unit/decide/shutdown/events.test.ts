import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { phaseEventOf } from '../../../../src/decide/shutdown/events.ts';
import type { Phase } from '../../../../src/decide/shutdown/phase.ts';

const SHUTDOWN = {
  maintenance: 'shutdown-node-a-rs',
  mode: 'cluster',
  origin: 'logind',
  reason: 'node reboot',
  since: 0,
  bootId: 'boot-1',
} as const;
const WATCHING: Phase = { kind: 'watching' };
const DRAINING: Phase = { kind: 'draining', ...SHUTDOWN };
const RELEASED: Phase = { kind: 'released', releasedAt: 1, ...SHUTDOWN };
const FORCED: Phase = { ...RELEASED, forced: 'in a hurry' };
const BACK: Phase = { kind: 'recovering', cause: 'boot', ...SHUTDOWN };

const cases: [string, Phase, Phase, string][] = [
  ['a shutdown is held', WATCHING, DRAINING, 'Normal ShutdownHeld wall'],
  ['the drain goes on locally', DRAINING, { ...DRAINING, mode: 'offline' }, ''],
  ['the pods have left', DRAINING, RELEASED, 'Normal ShutdownReleased wall'],
  ['somebody would not wait', DRAINING, FORCED, 'Warning ShutdownForced wall'],
  ['the shutdown is called off', DRAINING, { ...BACK, cause: 'canceled' }, 'Normal ShutdownCanceled wall'],
  ['the machine is back', RELEASED, BACK, 'Normal NodeBack'],
  ['the machine went down in mid-drain', DRAINING, BACK, 'Warning WentDownUndrained'],
  ['all is back', BACK, WATCHING, 'Normal ShutdownOver'],
];

describe('the news of a phase', () => {
  for (const [name, previous, next, expected] of cases) {
    it(`the news of a phase is ${expected === '' ? 'none' : `"${expected}"`} when ${name}`, () => {
      const news = phaseEventOf('node-a', previous, next);
      const told = news === undefined ? '' : `${news.type} ${news.reason}${news.wall ? ' wall' : ''}`;
      assert.equal(told, expected);
      if (news !== undefined) assert.match(news.message, /node-a/i);
    });
  }

  it('the news of a phase says who would not wait, and that a power cut left pods behind', () => {
    assert.match(phaseEventOf('node-a', DRAINING, FORCED)?.message ?? '', /with pods still there .*in a hurry/);
    assert.match(phaseEventOf('node-a', DRAINING, BACK)?.message ?? '', /went down before its pods had ended/);
  });
});
