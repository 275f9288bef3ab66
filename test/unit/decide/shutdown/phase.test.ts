import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decidePhase, describePhase, type Phase, type PhaseFacts } from '../../../../src/decide/shutdown/phase.ts';
import { describeState, DRAINING, FACTS, SHUTDOWN, YES } from '../../../support/agent/phase-facts.ts';

const RELEASED: Phase = { kind: 'released', releasedAt: 1_000_000, ...SHUTDOWN };
const RECOVERING: Phase = { kind: 'recovering', cause: 'boot', ...SHUTDOWN };

const transitions: [string, Phase, Partial<PhaseFacts>, string][] = [
  ['waits while nothing happens', { kind: 'watching' }, {}, 'watching'],
  ['waits while nobody can be asked', { kind: 'watching' }, { goingDown: { kind: 'unknown' } }, 'watching'],
  ['drains when the machine goes down', { kind: 'watching' }, { goingDown: YES }, 'draining cluster'],
  [
    'drains locally without a cluster',
    { kind: 'watching' },
    { goingDown: YES, clusterConfigured: false },
    'draining offline',
  ],
  ['holds on while pods are left', DRAINING, { goingDown: YES }, 'draining cluster'],
  ['holds on while nobody can be asked', DRAINING, { goingDown: { kind: 'unknown' } }, 'draining cluster'],
  ['releases when all pods are gone', DRAINING, { goingDown: YES, drained: true }, 'released cluster'],
  ['waits no longer when somebody wants so', DRAINING, { goingDown: YES, release: 'in a hurry' }, 'released cluster'],
  ['waits up to the bound', DRAINING, { goingDown: YES, now: 1_059_999, maxHoldMs: 60_000 }, 'draining cluster'],
  [
    'waits no longer than the bound',
    DRAINING,
    { goingDown: YES, now: 1_060_000, maxHoldMs: 60_000 },
    'released cluster',
  ],
  ['has nothing to release while it watches', { kind: 'watching' }, { release: 'in a hurry' }, 'watching'],
  ['goes back when the shutdown is called off', DRAINING, {}, 'recovering cluster canceled'],
  ['goes back after a boot in mid-drain', DRAINING, { bootId: 'boot-2', goingDown: YES }, 'recovering cluster boot'],
  [
    'waits for a silent API server',
    DRAINING,
    { goingDown: YES, maintenance: 'absent', sinceBootMs: 64_999 },
    'draining cluster',
  ],
  [
    'goes on locally when it stays silent',
    DRAINING,
    { goingDown: YES, maintenance: 'absent', sinceBootMs: 65_000 },
    'draining offline',
  ],
  [
    'asks anew after a restart',
    DRAINING,
    { goingDown: YES, maintenance: 'absent', sinceBootMs: 9_000_000, askingSinceBootMs: 8_999_000 },
    'draining cluster',
  ],
  [
    'gives up a silent API server in time although the clock is set back',
    DRAINING,
    { goingDown: YES, maintenance: 'absent', now: -2_600_000, sinceBootMs: 65_000 },
    'draining offline',
  ],
  [
    'waits for a silent API server although the clock is set ahead',
    { ...DRAINING, sinceBootMs: 50_000 },
    { goingDown: YES, maintenance: 'absent', now: 4_600_000, sinceBootMs: 50_100 },
    'draining cluster',
  ],
  [
    'stays with the cluster that has the maintenance',
    DRAINING,
    { goingDown: YES, sinceBootMs: 9_000_000 },
    'draining cluster',
  ],
  [
    'goes on locally when the API server falls silent in mid-drain',
    DRAINING,
    { goingDown: YES, sinceBootMs: 9_000_000, apiSilentMs: 15_000 },
    'draining offline',
  ],
  [
    'waits for an API server that has been silent for a moment',
    DRAINING,
    { goingDown: YES, sinceBootMs: 9_000_000, apiSilentMs: 14_999 },
    'draining cluster',
  ],
  [
    'stays local until the cluster has taken over',
    { ...DRAINING, mode: 'offline' },
    { goingDown: YES, now: 9_000_000 },
    'draining offline',
  ],
  [
    'goes back to the cluster that has taken over',
    { ...DRAINING, mode: 'offline' },
    { goingDown: YES, now: 9_000_000, handedOver: true },
    'draining cluster',
  ],
  ['stays released while the machine goes down', RELEASED, { goingDown: YES, now: 9_000_000 }, 'released cluster'],
  ['gives the machine a minute to show that it goes down', RELEASED, { now: 1_059_999 }, 'released cluster'],
  ['goes back when it does not', RELEASED, { now: 1_060_000 }, 'recovering cluster canceled'],
  [
    'goes back in time although the clock is set back',
    { ...RELEASED, releasedSinceBootMs: 50_000 },
    { now: -2_600_000, sinceBootMs: 110_000 },
    'recovering cluster canceled',
  ],
  [
    'gives the machine its minute although the clock is set ahead',
    { ...RELEASED, releasedSinceBootMs: 50_000 },
    { now: 4_600_000, sinceBootMs: 50_100 },
    'released cluster',
  ],
  ['recovers after the boot', RELEASED, { bootId: 'boot-2' }, 'recovering cluster boot'],
  ['recovers until all is back', RECOVERING, { bootId: 'boot-2' }, 'recovering cluster boot'],
  [
    'drains for the next shutdown even if not all is back',
    RECOVERING,
    { bootId: 'boot-2', goingDown: YES },
    'draining cluster',
  ],
  ['watches again then', RECOVERING, { bootId: 'boot-2', recovered: true }, 'watching'],
];

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
    it(`maxHoldSec ${expected === 'draining' ? 'holds on' : 'lets go'} ${name}`, () => {
      const phase: Phase = { ...DRAINING, ...(recorded === undefined ? {} : { sinceBootMs: recorded }) };
      const facts = { ...FACTS, goingDown: YES, now, sinceBootMs, maxHoldMs: 60_000 };
      assert.equal(decidePhase(phase, facts).kind, expected);
    });
  }

  it('maxHoldSec counts from the moment at which the shutdown was seen', () => {
    const seen = decidePhase({ kind: 'watching' }, { ...FACTS, goingDown: YES });
    assert.equal(seen.kind === 'draining' && seen.sinceBootMs, FACTS.sinceBootMs);
  });
});

describe('the shutdown phase', () => {
  for (const [name, phase, facts, expected] of transitions) {
    it(name, () => {
      assert.equal(describeState(decidePhase(phase, { ...FACTS, ...facts })), expected);
    });
  }

  it('the shutdown phase says why a machine may go down with pods still there', () => {
    const bound = decidePhase(DRAINING, { ...FACTS, goingDown: YES, now: 1_060_000, maxHoldMs: 60_000 });
    assert.match(describePhase(bound), /not drained, .*held for 60 s, the most that maxHoldSec allows/);
    const asked = decidePhase(DRAINING, { ...FACTS, goingDown: YES, release: 'in a hurry' });
    assert.equal(asked.kind === 'released' ? asked.forced : '', 'in a hurry');
    const back = decidePhase(asked, { ...FACTS, bootId: 'boot-2' });
    assert.deepEqual(back, { ...RECOVERING });
  });

  it('the shutdown phase begins with a name that nothing has', () => {
    const begun = decidePhase({ kind: 'watching' }, { ...FACTS, goingDown: YES });
    assert.equal(begun.kind === 'draining' && begun.maintenance, 'shutdown-node-a-7');
    const none = decidePhase({ kind: 'watching' }, { ...FACTS, goingDown: YES, freeName: undefined });
    assert.equal(none.kind === 'draining' && none.maintenance, 'shutdown-node-a-0');
  });

  it('the shutdown phase keeps no more of a reason than fits, whole characters, and nothing that steers a terminal', () => {
    const reasonOf = (reason: string): string => {
      const begun = decidePhase({ kind: 'watching' }, { ...FACTS, goingDown: { ...YES, reason } });
      return begun.kind === 'draining' ? begun.reason : '';
    };
    assert.equal(reasonOf('node reboot: kernel update'), 'node reboot: kernel update');
    assert.equal(reasonOf('a\u001b[2J\nb'), 'a [2J b');
    assert.equal(reasonOf('x'.repeat(5_000)), 'x'.repeat(1_024));
    const faces = reasonOf(`${'x'.repeat(1_023)}${'\u{1F600}'.repeat(3_000)}`);
    assert.equal(faces, `${'x'.repeat(1_023)}\u{1F600}`);
    assert.ok(faces.isWellFormed());
  });
});
