import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { OwnState } from '../../../../src/decide/maintenance/agent-names.ts';
import { holdsLock, isNamed, mayHandOver, type Phase } from '../../../../src/decide/shutdown/phase.ts';
import { describeState, DRAINING, FACTS, phaseAfter, SHUTDOWN, YES } from '../../../support/agent/phase-facts.ts';

/** The name, the state, in which mode, how often it was deleted before, and what comes of it: phase, mode, deletions. */
const losses: [string, OwnState, 'cluster' | 'offline', number, string][] = [
  ['is there', 'open', 'cluster', 0, 'draining cluster, the same'],
  ["has a name that is somebody else's", 'taken', 'cluster', 0, 'draining cluster, another name, 0 deleted'],
  [
    "has a name that is somebody else's, in a local drain",
    'taken',
    'offline',
    0,
    'draining offline, another name, 0 deleted',
  ],
  ['was deleted', 'deleted', 'cluster', 0, 'draining cluster, another name, 1 deleted'],
  ['was deleted for the third time', 'deleted', 'cluster', 2, 'draining cluster, another name, 3 deleted'],
  ['was deleted again and again', 'deleted', 'cluster', 3, 'draining offline, another name, 4 deleted'],
  ['was deleted, in a local drain', 'deleted', 'offline', 0, 'draining offline, another name, 1 deleted'],
  ['was deleted even then', 'deleted', 'offline', 4, 'draining offline, the same, 4 deleted'],
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

  it('a shutdown whose NodeMaintenance was deleted again and again is not handed over to the cluster', () => {
    const often = { from: [], deleted: 4, sinceBootMs: 0 };
    assert.equal(mayHandOver({ ...SHUTDOWN, renamed: often }), false);
    assert.equal(mayHandOver({ ...SHUTDOWN, renamed: { ...often, deleted: 3 } }), true);
  });
});
