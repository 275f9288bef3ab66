import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import { RuntimeSilence } from '../../../../src/agent/drain/runtime-silence.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

describe('the wait for pods that cannot be seen', () => {
  it('the wait tells since when, and until when, whatever is done to the clock', () => {
    const clock = createSteppingClock();
    const wait = new RuntimeSilence(clock);
    const since = clock.now();
    const { what, on, message, ...times } = wait.unseen('no answer').waiting;
    assert.equal(`${what} ${message} (${on})`, 'the pods of this node are not known: no answer (container runtime)');
    assert.deepEqual(times, { wait: 'unseen-pods', since, expectedAt: since + 120_000 });
    clock.set(3_600_000);
    clock.pass(119_999);
    const later = wait.unseen('no answer');
    assert.deepEqual([later.left, later.waiting.since], [undefined, since + 3_600_000]);
  });

  it('the wait is over after two minutes, and begins anew when the pods were seen; each begins with a start of the runtime', () => {
    const clock = createSteppingClock();
    const start = mock.fn();
    const wait = new RuntimeSilence(clock, start);
    wait.unseen('no answer');
    clock.pass(120_000);
    const { left } = wait.unseen('no answer');
    assert.equal(left, 'the pods could not be seen for 120 s, so the agent ended no more of them (no answer)');
    assert.equal(start.mock.callCount(), 1);
    wait.end();
    assert.equal(wait.unseen('no answer').left, undefined);
    assert.equal(start.mock.callCount(), 2);
  });
});
