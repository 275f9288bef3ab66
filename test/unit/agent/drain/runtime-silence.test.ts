import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RuntimeSilence } from '../../../../src/agent/drain/runtime-silence.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

describe('the wait for pods that cannot be seen', () => {
  it('the wait tells since when, and until when, whatever is done to the clock', () => {
    const clock = createSteppingClock();
    const wait = new RuntimeSilence(clock);
    const since = clock.now();
    assert.deepEqual(
      [wait.unseen('no answer').waiting],
      [
        {
          wait: 'unseen-pods',
          what: 'the pods of this node',
          on: 'container runtime',
          message: 'are not known: no answer',
          since,
          expectedAt: since + 120_000,
        },
      ],
    );
    clock.set(3_600_000);
    clock.pass(119_999);
    const later = wait.unseen('no answer');
    assert.deepEqual([later.left, later.waiting.since], [undefined, since + 3_600_000]);
  });

  it('the wait is over after two minutes, and begins anew when the pods were seen; each begins with a start of the runtime', () => {
    const clock = createSteppingClock();
    let starts = 0;
    const wait = new RuntimeSilence(clock, () => {
      starts += 1;
    });
    wait.unseen('no answer');
    clock.pass(120_000);
    const { left } = wait.unseen('no answer');
    assert.equal(left, 'the pods could not be seen for 120 s, so the agent ended no more of them (no answer)');
    assert.equal(starts, 1);
    wait.end();
    assert.equal(wait.unseen('no answer').left, undefined);
    assert.equal(starts, 2);
  });
});
