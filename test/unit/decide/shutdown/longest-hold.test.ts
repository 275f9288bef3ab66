import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Phase } from '../../../../src/decide/shutdown/phase.ts';
import { DRAINING, FACTS, phaseAfter, YES } from '../../../support/agent/phase-facts.ts';

/** Clock and time since the boot of an agent that may have been restarted, what its record has, and whether it holds on. */
const holds: [string, { now: number; sinceBootMs: number; recorded?: number }, 'draining' | 'released'][] = [
  ['short of it', { now: 1_059_999, sinceBootMs: 109_999, recorded: 50_000 }, 'draining'],
  ['at it', { now: 1_060_000, sinceBootMs: 110_000, recorded: 50_000 }, 'released'],
  ['short of it, while the clock jumps a year ahead', { now: 4e10, sinceBootMs: 50_100, recorded: 50_000 }, 'draining'],
  ['at it, while the clock jumps a year back', { now: -3e10, sinceBootMs: 110_000, recorded: 50_000 }, 'released'],
  ['short of it by the clock, of an older record', { now: 1_059_999, sinceBootMs: 9e9 }, 'draining'],
  ['at it by the clock, of an older record', { now: 1_060_000, sinceBootMs: 0 }, 'released'],
];

describe('maxHoldSec', () => {
  for (const [name, { now, sinceBootMs, recorded }, expected] of holds) {
    it(`${expected === 'draining' ? 'holds on' : 'lets go'} ${name}`, () => {
      const phase: Phase = { ...DRAINING, ...(recorded === undefined ? {} : { sinceBootMs: recorded }) };
      const facts = { ...FACTS, goingDown: YES, now, sinceBootMs, maxHoldMs: 60_000 };
      assert.equal(phaseAfter(phase, facts).kind, expected);
    });
  }

  it('counts from the moment at which the shutdown was seen', () => {
    const seen = phaseAfter({ kind: 'watching' }, { ...FACTS, goingDown: YES });
    assert.equal(seen.kind === 'draining' && seen.sinceBootMs, FACTS.sinceBootMs);
  });
});
