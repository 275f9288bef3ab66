import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { describePhase, type Phase, type PhaseFacts } from '../../../../src/decide/shutdown/phase.ts';
import { decidePhase } from '../../../../src/decide/shutdown/transition.ts';
import { describeState, DRAINING, FACTS, phaseAfter, SHUTDOWN, YES } from '../../../support/agent/phase-facts.ts';

const WATCHING: Phase = { kind: 'watching' };
const OFFLINE: Phase = { ...DRAINING, mode: 'offline' };
const RELEASED: Phase = { kind: 'released', releasedAt: 1_000_000, ...SHUTDOWN };
const RECOVERING: Phase = { kind: 'recovering', cause: 'boot', ...SHUTDOWN };
const CANCELED: Phase = { ...RECOVERING, cause: 'canceled', canceledBy: 'root', voidLogind: 100 };
const UNKNOWN = { kind: 'unknown' } as const;
const REBOOT = { ...YES, shutdownKind: 'reboot' } as const;
const DEADLINE = { ...YES, deadline: 1_000_500 };
const HURRY = { ...YES, triggerDeadline: 1_000_500 };
const HURRIED: Phase = { ...DRAINING, deadline: { at: 1_000_500, since: 0, of: 'trigger' } };

const NOTICED: Phase = { ...DRAINING, deadline: { at: 1_000_400, since: 0 } };
const CALLED_OFF: Phase = { ...DRAINING, canceledBy: 'root', voidLogind: 100 };
const TAKEN_BACK: Phase = { ...RELEASED, canceledBy: 'root' };
const RELEASED_EARLY: Phase = { ...RELEASED, releasedSinceBootMs: 50_000 };
const HELD: Phase = { ...DRAINING, deadline: { at: 1_060_000, since: 1_000_000, isHold: true } };
const VOID = { kind: 'no', voidLogind: 100 } as const;
const BY_TRIGGER = { ...YES, origin: 'trigger' } as const;
const CANCEL = 'cancel: recovering cluster canceled';
const LOSE = 'loseCluster: draining offline';
const RETURNING = { drained: true, left: 'late', endsAlone: 'late' };

/** A phase, what is read, and the transition with the state after it; "stays" for none. */
const transitions: [string, Phase, Partial<PhaseFacts>, string][] = [
  ['watches while nothing happens', WATCHING, {}, 'stays'],
  ['watches while logind does not answer', WATCHING, { goingDown: UNKNOWN }, 'stays'],
  ['watches whatever an operator releases', WATCHING, { release: 'in a hurry' }, 'stays'],
  ['drains while logind does not answer', DRAINING, { goingDown: UNKNOWN }, 'stays'],
  ['is canceled when the shutdown is called off', DRAINING, {}, CANCEL],
  ['is canceled even when all pods are gone', DRAINING, { drained: true }, CANCEL],
  ['gets an earlier deadline', DRAINING, { goingDown: DEADLINE }, 'tighten: draining cluster'],
  ['keeps the earlier deadline', NOTICED, { goingDown: DEADLINE }, 'stays'],
  ['learns its kind', DRAINING, { goingDown: REBOOT }, 'specify: draining cluster'],
  ['learns its kind', { ...DRAINING, shutdownKind: 'poweroff' }, { goingDown: REBOOT }, 'specify: draining cluster'],
  ['keeps its kind', { ...DRAINING, shutdownKind: 'reboot' }, { goingDown: REBOOT }, 'stays'],
  ['gets a deadline with its kind', DRAINING, { goingDown: { ...DEADLINE, ...REBOOT } }, 'tighten: draining cluster'],
  ['gets the deadline of a trigger', DRAINING, { goingDown: HURRY }, 'tighten: draining cluster'],
  ['keeps the deadline of a trigger while it applies', HURRIED, { goingDown: HURRY }, 'stays'],
  ['keeps it while logind does not answer', HURRIED, { goingDown: UNKNOWN }, 'stays'],
  ['stays released for a minute', RELEASED, { now: 1_059_999 }, 'stays'],
  ['is canceled when the machine is still up then', RELEASED, { now: 1_060_000 }, CANCEL],
  ['is canceled in time when the clock is set back', RELEASED_EARLY, { now: -2_600_000, sinceBootMs: 110_000 }, CANCEL],
  [
    'stays released for the minute although the clock is set ahead',
    RELEASED_EARLY,
    { now: 4_600_000, sinceBootMs: 50_100 },
    'stays',
  ],
  ['is canceled at once when who announced it takes it back', TAKEN_BACK, {}, CANCEL],
  ['is canceled for a trigger that is to begin anew', TAKEN_BACK, { goingDown: BY_TRIGGER }, CANCEL],
  ['recovers after the boot', RELEASED, { bootId: 'boot-2' }, 'boot: recovering cluster boot'],
  ['recovers until everything is back', RECOVERING, { bootId: 'boot-2' }, 'stays'],
  ['settles when everything is back', RECOVERING, { bootId: 'boot-2', recovered: true }, 'settle: watching'],
  [
    'that was called off is over although the drain is done by then',
    CALLED_OFF,
    { goingDown: VOID, drained: true },
    CANCEL,
  ],
  [
    'that was called off without the cluster is over too',
    { ...DRAINING, mode: 'offline', canceledBy: 'root', voidLogind: 100 },
    { goingDown: VOID },
    'cancel: recovering offline canceled',
  ],
  [
    'that was called off is held while a notice takes the machine away',
    CALLED_OFF,
    { goingDown: { ...YES, origin: 'notice' } },
    'stays',
  ],
  [
    'that was called off makes room for a trigger that was given since',
    { ...DRAINING, canceledBy: 'root' },
    { goingDown: BY_TRIGGER },
    CANCEL,
  ],
  ['that was called off is not over while logind prepares it', CANCELED, { recovered: true, goingDown: VOID }, 'stays'],
  [
    'that was called off is not over while logind does not answer',
    CANCELED,
    { recovered: true, goingDown: UNKNOWN },
    'stays',
  ],
  ['that was called off is over once logind has forgotten it', CANCELED, { recovered: true }, 'settle: watching'],
];

/** The same while the machine goes down. */
const goingDown: typeof transitions = [
  ['begins when the machine goes down', WATCHING, {}, 'begin: draining cluster'],
  ['begins offline without a cluster', WATCHING, { clusterConfigured: false }, 'begin: draining offline'],
  ['drains while pods are left', DRAINING, {}, 'stays'],
  ['finishes when all pods are gone', DRAINING, { drained: true }, 'finish: released cluster'],
  ['finishes an offline drain', OFFLINE, { drained: true }, 'finish: released offline'],
  ['is forced by an operator', DRAINING, { release: 'in a hurry' }, 'force: released cluster'],
  ['is forced by the bound', DRAINING, { now: 1_060_000, maxHoldMs: 60_000 }, 'force: released cluster'],
  ['drains up to the bound', HELD, { now: 1_059_999, maxHoldMs: 60_000 }, 'stays'],
  ['learns of its bound', DRAINING, { now: 1_000_001, maxHoldMs: 60_000 }, 'tighten: draining cluster'],
  [
    'is forced where only pods are left that cannot be ended',
    OFFLINE,
    { drained: true, left: 'a manifest cannot be moved' },
    'force: released offline',
  ],
  [
    'drains while the cluster that can end them is about to take over',
    OFFLINE,
    { drained: true, left: 'nobody can', handingOver: true },
    'stays',
  ],
  [
    'drains while other pods are left beside those',
    OFFLINE,
    { drained: false, left: 'a manifest cannot be moved' },
    'stays',
  ],
  ['recovers after a boot in mid-drain', DRAINING, { bootId: 'boot-2' }, 'boot: recovering cluster boot'],
  ['keeps a kind that is not named any more', { ...DRAINING, shutdownKind: 'reboot' }, {}, 'stays'],
  ['loses the deadline of a trigger that is taken back', HURRIED, {}, 'relax: draining cluster'],
  ['keeps that of a notice when a trigger is taken back', NOTICED, {}, 'stays'],
  ['gets another name', DRAINING, { maintenance: 'taken' }, 'rename: draining cluster'],
  ['stays with the cluster that has the maintenance', DRAINING, { sinceBootMs: 9_000_000 }, 'stays'],
  [
    'loses the cluster when the API server stays silent in mid-drain',
    DRAINING,
    { sinceBootMs: 9_000_000, stall: { forMs: 300_000, refusal: undefined } },
    LOSE,
  ],
  [
    'waits for an API server that has been silent for some minutes, for budgets protect its pods',
    DRAINING,
    { sinceBootMs: 9_000_000, stall: { forMs: 299_999, refusal: undefined } },
    'stays',
  ],
  [
    'loses the cluster soon when the API server falls silent after all were asked',
    DRAINING,
    { sinceBootMs: 9_000_000, stand: 'ends', stall: { forMs: 15_000, refusal: undefined } },
    LOSE,
  ],
  [
    'loses the cluster whose API server refuses the drain',
    DRAINING,
    { stall: { forMs: 300_000, refusal: 'a webhook cannot be called' } },
    LOSE,
  ],
  ['waits for a Node object that was deleted a moment ago', DRAINING, { nodeGoneMs: 29_999 }, 'stays'],
  ['loses the cluster that has no such node any more', DRAINING, { nodeGoneMs: 30_000 }, LOSE],
  ['loses the cluster where pods come again and again that it can end alone', DRAINING, RETURNING, LOSE],
  ['is forced where it cannot end them alone either', OFFLINE, RETURNING, 'force: released offline'],
  ['loses the cluster where manifests cannot be moved', DRAINING, { manifestsStuck: true }, LOSE],
  ['stays offline until the cluster has taken over', OFFLINE, { now: 9_000_000 }, 'stays'],
  [
    'hands over to the cluster that has taken over',
    OFFLINE,
    { now: 9_000_000, handedOver: true },
    'handOver: draining cluster',
  ],
  ['stays released while the machine goes down', RELEASED, { now: 9_000_000 }, 'stays'],
  ['stays released for logind although a trigger is taken back', TAKEN_BACK, {}, 'stays'],
  [
    'begins for the next shutdown even if not everything is back',
    RECOVERING,
    { bootId: 'boot-2' },
    'begin: draining cluster',
  ],
  ['begins anew after one was called off', CANCELED, {}, 'begin: draining cluster'],
];

describe('a shutdown', () => {
  it('a new shutdown knows which logind still prepares one that was called off, until the boot', () => {
    const next = phaseAfter(CANCELED, { ...FACTS, goingDown: BY_TRIGGER });
    assert.ok(next.kind === 'draining' && next.voidLogind === 100 && next.canceledBy === undefined);
    const booted = phaseAfter(CANCELED, { ...FACTS, bootId: 'boot-2', goingDown: BY_TRIGGER });
    assert.ok(booted.kind === 'draining' && booted.voidLogind === undefined);
  });

  it('a shutdown has the logind that names it, also one that names it later', () => {
    const begun = phaseAfter(WATCHING, { ...FACTS, goingDown: { ...YES, namedBy: 100 } });
    assert.ok(begun.kind === 'draining' && begun.namedBy === 100);
    const later = decidePhase(DRAINING, { ...FACTS, goingDown: { ...YES, namedBy: 100 } });
    assert.ok(later?.name === 'specify' && later.to.kind === 'draining' && later.to.namedBy === 100);
    assert.equal(decidePhase(later.to, { ...FACTS, goingDown: YES }), undefined, 'it is not forgotten');
  });

  const underWay = goingDown.map(([name, phase, facts, expected]) => {
    return [name, phase, { goingDown: YES, ...facts }, expected] as const;
  });
  for (const [name, phase, facts, expected] of [...transitions, ...underWay]) {
    it(`a shutdown ${name}`, () => {
      const transition = decidePhase(phase, { ...FACTS, ...facts });
      const found = transition === undefined ? 'stays' : `${transition.name}: ${describeState(transition.to)}`;
      assert.equal(found, expected);
      assert.equal(transition?.from ?? phase, phase);
    });
  }

  it('says why a machine may go down with pods still there', () => {
    const held = { ...FACTS, goingDown: YES, now: 1_060_000, maxHoldMs: 60_000 };
    const bound = phaseAfter(DRAINING, { ...held, waitingFor: ['default/stuck', 'default/other'] });
    const what =
      /not drained, .*held for 60 s, the most that maxHoldSec allows; it still waited for default\/stuck, default\/other/;
    assert.match(describePhase(bound), what);
    const asked = phaseAfter(DRAINING, { ...FACTS, goingDown: YES, release: 'in a hurry' });
    assert.equal(asked.kind === 'released' ? asked.forced : '', 'in a hurry');
    const back = phaseAfter(asked, { ...FACTS, bootId: 'boot-2' });
    assert.deepEqual(back, { ...RECOVERING, stand: 'asks' });
  });

  it('ends with the longest hold as with a deadline: from its beginning on, whatever else is named and taken back', () => {
    const bounded = { ...FACTS, goingDown: YES, maxHoldMs: 60_000 };
    const held = phaseAfter(WATCHING, bounded);
    assert.deepEqual(held.kind === 'draining' && held.deadline, { at: 1_060_000, since: FACTS.now, isHold: true });
    const later = { now: 1_020_000, sinceBootMs: 70_000 };
    assert.equal(decidePhase(held, { ...bounded, ...later }), undefined);
    const hurried = phaseAfter(held, { ...bounded, ...later, goingDown: { ...YES, triggerDeadline: 1_030_000 } });
    const back = phaseAfter(hurried, { ...bounded, ...later });
    assert.deepEqual(back.kind === 'draining' && back.deadline?.at, 1_060_000);
    const set = phaseAfter(held, { ...bounded, ...later, now: 4_620_000 });
    assert.deepEqual(set.kind === 'draining' && set.deadline?.at, 4_660_000, 'a clock that is set moves it');
    const noticed = phaseAfter(held, { ...bounded, ...later, goingDown: { ...YES, deadline: 1_040_000 } });
    assert.deepEqual(noticed.kind === 'draining' && noticed.deadline, { at: 1_040_000, since: 1_020_000 });
  });

  it('has the deadline of a notice again when a trigger with an earlier one is taken back', () => {
    const both = phaseAfter(DRAINING, { ...FACTS, goingDown: { ...HURRY, deadline: 1_090_000 } });
    assert.deepEqual(both.kind === 'draining' && both.deadline, { at: 1_000_500, since: FACTS.now, of: 'trigger' });
    const later = phaseAfter(both, { ...FACTS, goingDown: { ...YES, deadline: 1_090_000 }, now: 1_000_100 });
    assert.deepEqual(later.kind === 'draining' && later.deadline, { at: 1_090_000, since: 1_000_100 });
    const none = phaseAfter(both, { ...FACTS, goingDown: YES });
    assert.deepEqual(none, { ...DRAINING, withdrawnDeadline: 1_000_500 });
  });

  it('says who took it back', () => {
    const begun = phaseAfter(WATCHING, { ...FACTS, goingDown: BY_TRIGGER });
    assert.ok(begun.kind === 'draining');
    const off = phaseAfter({ ...begun, canceledBy: 'root' }, FACTS);
    assert.ok(off.kind === 'recovering' && off.canceledBy === 'root');
    assert.match(describePhase(off), /shutdown called off by root/);
    const byLogind = phaseAfter(DRAINING, FACTS);
    assert.match(describePhase(byLogind), /shutdown called off, logind does not prepare it any more/);
  });

  it('begins with a name that nothing has', () => {
    const begun = phaseAfter(WATCHING, { ...FACTS, goingDown: YES });
    assert.equal(begun.kind === 'draining' && begun.maintenance, 'shutdown-node-a-7');
    const none = phaseAfter(WATCHING, { ...FACTS, goingDown: YES, freeName: undefined });
    assert.equal(none.kind === 'draining' && none.maintenance, 'shutdown-node-a-0');
  });

  it('keeps no more of a reason than fits, whole characters, and nothing that steers a terminal', () => {
    const reasonOf = (reason: string): string => {
      const begun = phaseAfter(WATCHING, { ...FACTS, goingDown: { ...YES, reason } });
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
