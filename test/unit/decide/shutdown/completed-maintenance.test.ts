import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { describePhase, mayHandOver, type Phase, type PhaseFacts } from '../../../../src/decide/shutdown/phase.ts';
import { decidePhase } from '../../../../src/decide/shutdown/transition.ts';
import { DRAINING, FACTS, phaseAfter, YES } from '../../../support/agent/phase-facts.ts';

const COMPLETED: PhaseFacts = { ...FACTS, goingDown: YES, maintenance: 'completed' };

type Draining = Extract<Phase, { kind: 'draining' }>;

/** The drain after somebody has completed its NodeMaintenance, at the moment of FACTS. */
function alone(phase: Draining = DRAINING): Draining {
  const next = phaseAfter(phase, COMPLETED);
  assert.ok(next.kind === 'draining');
  return next;
}

/** The facts so many milliseconds later. */
function later(ms: number, more: Partial<PhaseFacts> = {}): PhaseFacts {
  return { ...COMPLETED, now: FACTS.now + ms, sinceBootMs: FACTS.sinceBootMs + ms, ...more };
}

describe('a shutdown whose NodeMaintenance somebody has completed', () => {
  it('goes on without the cluster, and says why and for how long', () => {
    const transition = decidePhase(DRAINING, COMPLETED);
    assert.equal(transition?.name, 'loseCluster');
    const phase = alone();
    assert.equal(phase.mode, 'offline');
    assert.deepEqual(phase.deadline, { at: FACTS.now + 120_000, since: FACTS.now });
    assert.match(describePhase(phase), /offline, shutdown-node-a-rs, which somebody has completed/);
  });

  it('goes on in the same way where its drain was offline already', () => {
    const phase = alone({ ...DRAINING, mode: 'offline' });
    assert.deepEqual(phase.completed, { sinceBootMs: FACTS.sinceBootMs });
  });

  it('is let go after two minutes with what still runs, which the reason names', () => {
    const phase = alone();
    assert.equal(decidePhase(phase, later(119_999, { running: ['default/db'] })), undefined);
    const next = phaseAfter(phase, later(120_000, { running: ['default/db', 'default/web'] }));
    assert.ok(next.kind === 'released');
    assert.match(
      next.forced ?? '',
      /^somebody has completed the NodeMaintenance shutdown-node-a-rs, which ends the drain; .*120 s.*: default\/db, default\/web$/,
    );
  });

  it('is let go at an earlier deadline', () => {
    const phase = alone({ ...DRAINING, deadline: { at: FACTS.now + 30_000, since: FACTS.now } });
    assert.equal(phase.deadline?.at, FACTS.now + 30_000);
    assert.equal(decidePhase(phase, later(29_999)), undefined);
    assert.equal(phaseAfter(phase, later(30_000)).kind, 'released');
  });

  const lets: readonly [string, PhaseFacts, RegExp][] = [
    ['then although nobody knows what runs', later(120_000, { running: undefined }), /not known/],
    ['in time by a clock that is set back', { ...later(120_000), now: 5 }, /120 s/],
    ['as soon as nothing runs any more, and then no pod was left', later(10_000, { drained: true }), /^$/],
    ['at once by an operator', later(1, { release: 'in a hurry' }), /in a hurry/],
    ['at once by the longest hold', later(1, { maxHoldMs: 1 }), /maxHoldSec/],
    ['where only that is left which cannot leave', later(1, { drained: true, left: 'a pod that stays' }), /stays/],
  ];
  for (const [when, facts, why] of lets) {
    it(`is let go ${when}`, () => {
      const next = phaseAfter(alone(), facts);
      assert.ok(next.kind === 'released');
      assert.match(next.forced ?? '', why);
    });
  }

  it('gets no other NodeMaintenance, and is not handed over to the cluster again', () => {
    const phase = alone();
    assert.equal(mayHandOver(phase), false);
    for (const maintenance of ['deleted', 'taken', 'absent', 'open', 'completed'] as const) {
      assert.equal(decidePhase(phase, later(1, { maintenance, handedOver: true }))?.name, undefined, maintenance);
    }
  });
});
