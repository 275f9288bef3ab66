import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { lastShutdownAfter } from '../../../../src/decide/presence/last-shutdown.ts';
import type { Phase } from '../../../../src/decide/shutdown/phase.ts';
import type { TransitionName } from '../../../../src/decide/shutdown/transition.ts';
import { DRAINING } from '../../../support/agent/phase-facts.ts';

const RELEASED: Phase = { ...DRAINING, kind: 'released', releasedAt: 50 };
const FORCED: Phase = { ...RELEASED, forced: 'somebody was in a hurry' };

describe('the result of the last shutdown', () => {
  const cases: readonly [TransitionName, Phase, string][] = [
    ['finish', DRAINING, 'drained'],
    ['force', DRAINING, 'forced'],
    ['cancel', RELEASED, 'canceled'],
    ['boot', RELEASED, 'drained'],
    ['boot', FORCED, 'forced'],
    ['boot', DRAINING, 'undrained'],
  ];
  for (const [name, from, result] of cases) {
    it(`after ${name} from ${from === FORCED ? 'a forced release' : from.kind} it is ${result}, as of now`, () => {
      assert.deepEqual(lastShutdownAfter({ result: 'drained', at: 1 }, { name, from }, 100), { result, at: 100 });
    });
  }

  it('nothing else changes it', () => {
    const last = { result: 'forced', at: 1 } as const;
    for (const name of ['begin', 'tighten', 'handOver', 'settle'] as const) {
      assert.equal(lastShutdownAfter(last, { name, from: DRAINING }, 100), last);
      assert.equal(lastShutdownAfter(undefined, { name, from: DRAINING }, 100), undefined);
    }
  });
});
