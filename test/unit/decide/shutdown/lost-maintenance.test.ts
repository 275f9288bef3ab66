import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { OwnState } from '../../../../src/decide/maintenance/agent-names.ts';
import { holdsLock, isNamed, mayHandOver, type Phase, remakeAt } from '../../../../src/decide/shutdown/phase.ts';
import { describeState, DRAINING, FACTS, phaseAfter, UNTAKEN, YES } from '../../../support/agent/phase-facts.ts';

/** The name, the state, in which mode, how often it was deleted before, and what comes of it: phase, mode, deletions. */
const losses: [string, OwnState, 'cluster' | 'offline', number, string][] = [
  ['is there', 'open', 'cluster', 0, 'draining cluster, the same'],
  ["has a name that is somebody else's", 'taken', 'cluster', 0, 'draining cluster, another name, 0 deleted'],
  [
    "has a name of somebody else's, in a local drain",
    'taken',
    'offline',
    0,
    'draining offline, another name, 0 deleted',
  ],
  ['was deleted', 'deleted', 'cluster', 0, 'draining cluster, another name, 1 deleted'],
  ['was deleted for the third time', 'deleted', 'cluster', 2, 'draining cluster, another name, 3 deleted'],
  ['was deleted again and again', 'deleted', 'cluster', 3, 'draining cluster, another name, 4 deleted'],
  ['was deleted, in a local drain', 'deleted', 'offline', 0, 'draining offline, another name, 1 deleted'],
  ['was deleted even then', 'deleted', 'offline', 4, 'draining offline, another name, 5 deleted'],
  ['was completed by somebody', 'completed', 'cluster', 0, 'draining offline, the same'],
  ['was completed by somebody, in a local drain', 'completed', 'offline', 0, 'draining offline, the same'],
];

describe('a shutdown without its NodeMaintenance', () => {
  for (const [what, maintenance, mode, deleted, expected] of losses) {
    it(`a shutdown whose NodeMaintenance ${what} goes on: ${expected}`, () => {
      const renamed = { from: ['shutdown-node-a-z'], deleted, sinceBootMs: 50_000 };
      const phase: Phase = { ...DRAINING, mode, ...(deleted === 0 ? {} : { renamed }) };
      const next = phaseAfter(phase, { ...FACTS, goingDown: YES, maintenance, sinceBootMs: 9_000_000 });
      assert.ok(next.kind === 'draining' || next.kind === 'released');
      const name = next.maintenance === DRAINING.maintenance ? 'the same' : 'another name';
      const count = next.renamed === undefined ? '' : `, ${next.renamed.deleted} deleted`;
      assert.equal(`${next.kind} ${next.mode}, ${name}${count}`, expected);
      assert.equal(holdsLock(next), next.kind === 'draining');
      assert.ok(isNamed(next, DRAINING.maintenance), 'manifests may be parked under the first name');
    });
  }

  it('a shutdown whose NodeMaintenance is to be made again gets its time to be accepted', () => {
    const facts = { ...FACTS, goingDown: YES, sinceBootMs: 9_000_000 };
    const anew = phaseAfter(DRAINING, { ...facts, maintenance: 'deleted' });
    const wait = (ms: number): Phase =>
      phaseAfter(anew, { ...facts, maintenance: 'absent', sinceBootMs: facts.sinceBootMs + ms });
    assert.equal(describeState(wait(14_999)), 'draining cluster');
    assert.equal(describeState(wait(15_000)), 'draining offline');
  });

  it('a shutdown whose NodeMaintenance is deleted again and again makes it more and more slowly, and gives it its time then', () => {
    const pauses = [0, 1, 2, 3, 4, 5, 6, 9, 60].map((deleted) =>
      remakeAt({ renamed: { from: [], deleted, sinceBootMs: 0 } }),
    );
    assert.deepEqual(pauses, [0, 0, 0, 0, 15_000, 30_000, 60_000, 300_000, 300_000]);
    const renamed = { from: [], deleted: 5, sinceBootMs: 1_000_000 };
    const facts = { ...FACTS, goingDown: YES, maintenance: 'absent' } as const;
    const wait = (ms: number): Phase => phaseAfter({ ...UNTAKEN, renamed }, { ...facts, sinceBootMs: 1_000_000 + ms });
    assert.equal(describeState(wait(44_999)), 'draining cluster');
    assert.equal(describeState(wait(45_000)), 'draining offline');
  });

  it('a shutdown remembers each name of its NodeMaintenance once, however often it is deleted', () => {
    let phase: Phase = DRAINING;
    for (let at = 0; at < 100; at += 1) {
      const freeName = `shutdown-node-a-${at % 2}`;
      phase = phaseAfter(phase, { ...FACTS, goingDown: YES, maintenance: 'deleted', freeName });
    }
    assert.ok(phase.kind === 'draining');
    const names = new Set(['shutdown-node-a-0', 'shutdown-node-a-1', DRAINING.maintenance]);
    assert.deepEqual([phase.renamed?.from.length, new Set(phase.renamed?.from)], [3, names]);
  });

  it('a shutdown that the API server refuses to drain is not handed over to it', () => {
    const stall = { forMs: 300_000, refusal: `a webhook\ncannot be called ${'x'.repeat(9_999)}` };
    const next = phaseAfter(DRAINING, { ...FACTS, goingDown: YES, stall });
    assert.ok(next.kind === 'draining' && next.refusal !== undefined);
    assert.match(next.refusal, /^a webhook cannot be called x{9}/u);
    assert.ok(next.refusal.length <= 512);
    assert.equal(mayHandOver(next), false);
    assert.equal(mayHandOver(DRAINING), true);
    assert.equal(describeState(phaseAfter(next, { ...FACTS, goingDown: YES, handedOver: true })), 'draining offline');
  });
});
