import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  afterRevert,
  type CordonFight,
  isTooMany,
  pauseLeftMs,
} from '../../../../src/decide/node-mark/cordon-fight.ts';

describe('a cordon that somebody takes away again and again', () => {
  it('a node is cordoned again at once the first time, and later each time', () => {
    let fight: CordonFight | undefined;
    let now = 0;
    const pauses: number[] = [];
    for (let each = 0; each < 12; each += 1) {
      const pauseMs = pauseLeftMs(fight, now);
      pauses.push(pauseMs / 1000);
      now += pauseMs;
      assert.equal(pauseLeftMs(fight, now), 0);
      fight = afterRevert(fight, now);
    }
    assert.deepEqual(pauses, [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
  });

  it('a node that was left alone for a while is cordoned again at once', () => {
    const fight: CordonFight = { count: 9, lastAt: 0 };
    assert.equal(pauseLeftMs(fight, 16 * 60_000), 0);
    assert.deepEqual(afterRevert(fight, 16 * 60_000), { count: 1, lastAt: 16 * 60_000 });
  });

  it('every fifth time in a row is one too many', () => {
    const counts = Array.from({ length: 11 }, (_, index) => index + 1).filter((count) =>
      isTooMany({ count, lastAt: 0 }),
    );
    assert.deepEqual(counts, [5, 10]);
  });
});
