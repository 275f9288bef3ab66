import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { generateHistory, type History, type Step } from '../../chaos/history.ts';
import { signatureOf, type Violation } from '../../chaos/invariants/violation.ts';
import { type Play, shrinkHistory } from '../../chaos/shrink.ts';
import { STEP_KINDS } from '../../chaos/steps/kinds.ts';

const WRONG: Violation = { invariant: 'covered', what: 'a pod is asked to leave that no drain covers', detail: '' };
const stepAt = (steps: readonly Step[], at: number): Step => steps[at] ?? assert.fail(`no step ${at}`);

/** Plays nothing: a history fails where it has all of these steps, in this order. */
function playOf(needed: readonly Step[]): Play {
  return (history) => {
    let found = 0;
    for (const step of history.steps) if (step === needed[found]) found += 1;
    const violations = found === needed.length ? [WRONG] : [];
    const performed = history.steps.map((step) => ({ at: 0, step, outcome: '201' }));
    return Promise.resolve({ history, performed, violations, seconds: 1, disturbances: [] });
  };
}

async function shrunk(history: History, needed: readonly Step[]): Promise<readonly Step[] | undefined> {
  const play = playOf(needed);
  const invariants = new Set([WRONG.invariant]);
  const goal = { invariants, signature: signatureOf(WRONG), until: Infinity };
  const outcome = await shrinkHistory(play, await play(history, goal), goal);
  return outcome?.history.steps;
}

describe('a history of the chaos test', () => {
  it('a history follows from its seed', () => {
    assert.deepEqual(generateHistory(3, 40, STEP_KINDS), generateHistory(3, 40, STEP_KINDS));
    assert.notDeepEqual(generateHistory(3, 40, STEP_KINDS).steps, generateHistory(4, 40, STEP_KINDS).steps);
  });

  it('a history is shrunk to the steps that its violation needs', async () => {
    for (const seed of [1, 2, 3]) {
      const history = generateHistory(seed, 40, STEP_KINDS);
      const needed = [4, 20, 21, 46].map((at) => stepAt(history.steps, at));
      assert.deepEqual(await shrunk(history, needed), needed);
    }
  });

  it('a history that does not fail again is not shrunk', async () => {
    const history = generateHistory(1, 40, STEP_KINDS);
    const other = generateHistory(2, 40, STEP_KINDS);
    assert.equal(await shrunk(history, other.steps), undefined);
  });
});
