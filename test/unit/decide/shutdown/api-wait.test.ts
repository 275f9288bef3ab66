import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Phase, PhaseFacts } from '../../../../src/decide/shutdown/phase.ts';
import { decidePhase } from '../../../../src/decide/shutdown/transition.ts';
import { describeState, DRAINING, FACTS, UNTAKEN, YES } from '../../../support/agent/phase-facts.ts';

const BEGUN: Phase = { ...UNTAKEN, sinceBootMs: 50_000 };
const LOSE = 'loseCluster: draining offline';
const DEADLINE = { ...YES, deadline: 1_000_500 };

/** A drain whose NodeMaintenance does not exist yet, what is read, and the transition; "stays" for none. */
const waits: [string, Phase, Partial<PhaseFacts>, string][] = [
  ['waits for a silent API server', UNTAKEN, { sinceBootMs: 64_999 }, 'stays'],
  ['loses the cluster when the API server stays silent', UNTAKEN, { sinceBootMs: 65_000 }, LOSE],
  ['loses the cluster with an earlier deadline', UNTAKEN, { goingDown: DEADLINE, sinceBootMs: 65_000 }, LOSE],
  [
    'that a restarted agent finds waits some minutes for a silent API server, which had the maintenance',
    { ...BEGUN, stand: 'asks' },
    { askedSinceBootMs: 1_000_000, sinceBootMs: 1_299_999 },
    'stays',
  ],
  [
    'that a restarted agent finds loses an API server that stays silent',
    { ...BEGUN, stand: 'asks' },
    { askedSinceBootMs: 1_000_000, sinceBootMs: 1_300_000 },
    LOSE,
  ],
  [
    'that a restarted agent finds before its turn waits as long as one that was not restarted',
    { ...DRAINING, sinceBootMs: 50_000, stand: 'waits' },
    { goingDown: YES, maintenance: 'absent', askedSinceBootMs: 1_000_000, sinceBootMs: 4_599_999 },
    'stays',
  ],
  [
    'that a restarted agent finds before its turn loses an API server that stays silent for an hour',
    { ...DRAINING, sinceBootMs: 50_000, stand: 'waits' },
    { goingDown: YES, maintenance: 'absent', askedSinceBootMs: 1_000_000, sinceBootMs: 4_600_000 },
    'loseCluster: draining offline',
  ],
  [
    'that a restarted agent finds held by the guard of the control plane waits for a person',
    { ...DRAINING, sinceBootMs: 50_000, stand: 'guarded' },
    { goingDown: YES, maintenance: 'absent', askedSinceBootMs: 1_000_000, sinceBootMs: 90_000_000 },
    'stays',
  ],
  [
    'whose maintenance says that it waits for its turn remembers that',
    UNTAKEN,
    { goingDown: YES, maintenance: 'open', stand: 'waits' },
    'specify: draining cluster',
  ],
  [
    'that a restarted agent finds before its maintenance was taken loses a silent API server soon',
    BEGUN,
    { askedSinceBootMs: 60_000, sinceBootMs: 75_000 },
    LOSE,
  ],
  [
    'loses a silent cluster in time although the clock is set back',
    UNTAKEN,
    { now: -2_600_000, sinceBootMs: 65_000 },
    LOSE,
  ],
  [
    'waits for a silent API server although the clock is set ahead',
    BEGUN,
    { now: 4_600_000, sinceBootMs: 50_100 },
    'stays',
  ],
  [
    'does not count the time of the hooks, before the API server was asked',
    BEGUN,
    { sinceBootMs: 650_000, askedSinceBootMs: undefined },
    'stays',
  ],
  ['gives the API server its time after the hooks', BEGUN, { sinceBootMs: 84_999, askedSinceBootMs: 70_000 }, 'stays'],
  [
    'loses an API server that is silent for its time after the hooks',
    BEGUN,
    { sinceBootMs: 85_000, askedSinceBootMs: 70_000 },
    LOSE,
  ],
];

describe('the wait for an API server before the drain', () => {
  for (const [name, phase, facts, expected] of waits) {
    it(`a shutdown ${name}`, () => {
      const transition = decidePhase(phase, { ...FACTS, goingDown: YES, maintenance: 'absent', ...facts });
      const found = transition === undefined ? 'stays' : `${transition.name}: ${describeState(transition.to)}`;
      assert.equal(found, expected);
    });
  }
});
