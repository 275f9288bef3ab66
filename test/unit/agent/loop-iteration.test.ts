import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runIteration } from '../../../src/agent/loop.ts';
import { createStepRunner, type Iteration } from '../../../src/agent/iteration/step.ts';
import { DRAINING } from '../../support/agent/phase-facts.ts';
import { SILENT_LOG } from '../../support/silent-log.ts';

describe('an iteration', () => {
  it('runs the first steps before the phase is decided, and gives the others the transition', async () => {
    const transition = { name: 'begin', from: { kind: 'watching' }, to: DRAINING } as const;
    const seen: unknown[] = [];
    const run = async (iteration: Iteration): Promise<void> => void seen.push(iteration);
    const isFollowed = await runIteration(
      {
        machine: {
          decide: () => {
            seen.push('decide');
            return Promise.resolve(transition);
          },
          record: () => ({ phase: DRAINING, offlineTargets: [] }),
        },
        firstSteps: [{ name: 'first', run }],
        steps: [{ name: 'a', run }],
        runner: createStepRunner(SILENT_LOG),
        lastPass: () => undefined,
      },
      new AbortController().signal,
    );
    assert.deepEqual(seen, [{ phase: DRAINING, transition: undefined }, 'decide', { phase: DRAINING, transition }]);
    assert.equal(isFollowed, true);
  });
});
