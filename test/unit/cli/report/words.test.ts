import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { offsetText, outcomeText, partsOf, sentenceOf } from '../../../../src/cli/report/words.ts';
import type { Timeline } from '../../../../src/show/story/timeline.ts';

/** A timeline whose time went this way, in milliseconds. */
function lineOf(spent: Partial<Timeline['spent']>, more: Partial<Timeline> = {}): Timeline {
  const parts = { endingMs: 0, interceptorMs: 0, waitingMs: 0, betweenMs: 0, ...spent };
  const { endingMs, interceptorMs, waitingMs, betweenMs } = parts;
  const heldMs = endingMs + interceptorMs + waitingMs + betweenMs;
  return {
    outcome: 'drained',
    pods: 3,
    podsLeft: 0,
    spent: { heldMs, addedMs: waitingMs + betweenMs, ...parts },
    ...more,
  } as Timeline;
}

describe('the parts of the time of a hold', () => {
  const cases: [string, Partial<Timeline['spent']>, number[]][] = [
    ['parts that end in whole seconds', { endingMs: 2_000, waitingMs: 3_000 }, [2_000, 3_000]],
    [
      'rests that add up to a second: the largest one gets it',
      { endingMs: 1_400, interceptorMs: 1_600 },
      [1_000, 2_000],
    ],
    ['three rests of a third', { endingMs: 1_333, interceptorMs: 1_333, waitingMs: 1_334 }, [1_000, 1_000, 2_000]],
    ['a part below half a second, which is left out', { endingMs: 5_000, betweenMs: 400 }, [5_000]],
  ];
  for (const [what, spent, expected] of cases) {
    it(`the parts are whole seconds for ${what}`, () => {
      const line = lineOf(spent);
      const parts = partsOf(line).map(({ ms }) => ms);
      assert.deepEqual(parts, expected);
      const sum = parts.reduce((total, ms) => total + ms, 0);
      assert.equal(sum, Math.round(line.spent.heldMs / 1000) * 1000, 'who adds them up gets the whole');
    });
  }
});

describe('the sentences of a report', () => {
  const outcomes: [Partial<Timeline>, RegExp][] = [
    [{ outcome: 'drained' }, /^every pod has left, and the machine may go down$/],
    [{ outcome: 'drained', awayMs: 60_000 }, /^every pod left before the machine went down$/],
    [{ outcome: 'not drained', podsLeft: 1, why: 'maxHoldSec was over' }, /^1 pod was left: maxHoldSec was over$/],
    [{ outcome: 'went down undrained', podsLeft: 2 }, /and 2 pods were left$/],
    [{ outcome: 'called off' }, /called off$/],
    [{ outcome: 'called off', why: 'somebody has completed it' }, /it is not known which pods were left: somebody has/],
    [{ outcome: 'called off', isReleased: true }, /called off after every pod had left$/],
    [{ outcome: 'called off', podsLeft: 2, why: 'a disk was full' }, /called off; 2 pods were left: a disk was full$/],
    [
      { outcome: 'drained', kubeletEnds: true },
      /may go down; the kubelet ended pods too, by its own graceful shutdown$/,
    ],
    [{ outcome: 'drained', budgetsNotAsked: true }, /; PodDisruptionBudgets were not asked: no other node stayed$/],
  ];
  for (const [more, expected] of outcomes) {
    it(`the outcome "${more.outcome}" is told in a few words: ${String(expected)}`, () => {
      assert.match(outcomeText(lineOf({}, more)), expected);
    });
  }

  it('the sentence says for how long, for whom, and what was added', () => {
    const spent = { endingMs: 60_000, waitingMs: 30_000 };
    assert.equal(
      sentenceOf(lineOf(spent, { pods: 1 })),
      'The shutdown was held for 1m30s for 1 pod; the applications took 1m0s of it, the hold added 30s.',
    );
    const text = sentenceOf(lineOf(spent, { outcome: 'under way' }));
    assert.match(text, /^The shutdown has been held for 1m30s for 3 pods/);
  });
});

describe('the axis of a report', () => {
  it('a time on the axis is counted from the beginning', () => {
    assert.equal(offsetText(91_000, 1_000), '+1m30s');
  });
});
