import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EventRate } from '../../../../src/kube/event/rate.ts';

const MINUTE = 60_000;

describe('the rate of Events of an object', () => {
  it('an object has 30 Events in a minute; the first one that is left out is told apart from the others', () => {
    const rate = new EventRate();
    const counts = Array.from({ length: 33 }, () => rate.count('a', MINUTE));
    assert.ok(counts.slice(0, 30).every((count) => count === 'room'));
    assert.deepEqual(counts.slice(30), ['first-left-out', 'left-out', 'left-out']);
  });

  it('another object, and another minute, have room of their own', () => {
    const rate = new EventRate();
    for (let count = 0; count < 31; count += 1) rate.count('a', 0);
    assert.equal(rate.count('b', 0), 'room');
    assert.equal(rate.count('a', MINUTE - 1), 'left-out');
    assert.equal(rate.count('a', MINUTE), 'room');
  });
});
