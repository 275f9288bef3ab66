import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFirstQuestion } from '../../../../src/agent/shutdown/first-question.ts';
import { DRAINING } from '../../../support/agent/phase-facts.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

describe('the first question of a shutdown to the API server', () => {
  it('the first question of a shutdown counts, in whichever mode its drain goes on, and not that of another one', () => {
    const clock = createSteppingClock();
    const first = createFirstQuestion(clock);
    assert.equal(first.askedAt(DRAINING), undefined);
    first.note({ kind: 'watching' });
    first.note({ ...DRAINING, mode: 'offline' });
    assert.equal(first.askedAt(DRAINING), undefined);
    const at = clock.monotonic();
    first.note(DRAINING);
    clock.pass(1_000);
    first.note(DRAINING);
    assert.deepEqual([first.askedAt(DRAINING), first.askedAt({ ...DRAINING, mode: 'offline' })], [at, at]);
    const next = { ...DRAINING, since: DRAINING.since + 1 };
    assert.equal(first.askedAt(next), undefined);
    first.note(next);
    assert.equal(first.askedAt(next), at + 1_000);
  });
});
