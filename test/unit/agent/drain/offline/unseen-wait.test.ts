import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createUnseenWait } from '../../../../../src/agent/drain/offline/unseen-wait.ts';
import { createSteppingClock } from '../../../../support/stand-ins/stepping-clock.ts';

describe('the wait for pods that cannot be seen', () => {
  it('the wait tells since when, and until when, whatever is done to the clock', () => {
    const clock = createSteppingClock();
    const wait = createUnseenWait(clock);
    const since = clock.now();
    assert.deepEqual(wait.pass('no answer').waiting, [
      {
        what: 'the pods of this node',
        on: 'container runtime',
        message: 'are not known: no answer',
        since,
        expectedAt: since + 120_000,
      },
    ]);
    clock.set(3_600_000);
    clock.pass(119_999);
    const later = wait.pass('no answer');
    assert.deepEqual([later.drained, later.waiting[0]?.since], [false, since + 3_600_000]);
  });

  it('the wait is over after two minutes, and begins anew when the pods were seen', () => {
    const clock = createSteppingClock();
    const wait = createUnseenWait(clock);
    wait.pass('no answer');
    clock.pass(120_000);
    const last = wait.pass('no answer');
    assert.deepEqual([last.drained, last.leave.size], [true, 0]);
    assert.equal(last.left, 'the pods could not be seen for 120 s, so the agent ended no more of them (no answer)');
    wait.end();
    assert.equal(wait.pass('no answer').drained, false);
  });
});
