import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { offlineDeadlineOf, staticDeadlineOf } from '../../../../src/agent/drain/deadline.ts';
import type { Deadline } from '../../../../src/decide/deadline/budget.ts';
import type { Phase, Shutdown } from '../../../../src/decide/shutdown/phase.ts';
import { drainingPhase } from '../../../support/agent/phase-facts.ts';

const DEADLINE: Deadline = { at: 100_000, since: 0 };
const VIEW = { inPlace: [], ended: [], parked: [], live: undefined };

function phaseOf(deadline?: Deadline, more: Partial<Shutdown> = {}): Extract<Phase, { kind: 'draining' }> {
  return drainingPhase('cluster', { ...(deadline === undefined ? {} : { deadline }), ...more });
}

describe('the deadline of a shutdown', () => {
  it('the deadline of a shutdown means nothing for the pods of a shutdown that has none', () => {
    assert.equal(staticDeadlineOf(phaseOf(), VIEW, [], 0), undefined);
    assert.equal(offlineDeadlineOf(phaseOf(), { pods: [], view: VIEW, drainPlan: [] }, 0), undefined);
  });

  it('the deadline of a shutdown makes the static pods due that are in place when their time has come', () => {
    const pod = { file: 'web.yaml', namespace: 'default', podName: 'web-n1', priority: 0, labels: {}, graceSec: 30 };
    const view = { ...VIEW, inPlace: [pod as never] };
    assert.equal(staticDeadlineOf(phaseOf(DEADLINE), view, [], 0)?.due.length, 0);
    assert.equal(staticDeadlineOf(phaseOf(DEADLINE), view, [], 99_000)?.due.length, 1);
  });
});
