import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Rests, WaitingKeys } from '../../../src/kube/waiting-keys.ts';

const ANY = (): boolean => true;

describe('the keys that wait for a run', () => {
  it('a key that waits already is not added again, and becomes urgent with the time since which it has waited', () => {
    const keys = new WaitingKeys();
    assert.equal(keys.add('a', false, 1), true);
    assert.equal(keys.add('a', false, 2), false);
    keys.add('b', false, 2);
    assert.equal(keys.add('b', true, 3), false);
    assert.equal(keys.add('b', false, 4), false);
    assert.equal(keys.size, 2);
    assert.equal(keys.find(ANY), 'b');
    const found = ['a', 'b'].map((other) => keys.find((key) => key !== other));
    assert.deepEqual(found, ['b', 'a'], 'what may not run now is passed over');
    assert.equal(keys.take('b'), 2);
    assert.equal(keys.take('a'), 1);
    assert.equal(keys.take('a'), undefined);
  });
});

describe('the rest of a key after its run', () => {
  it('the rest is over after its time, and lasts two seconds at most', () => {
    const rests = new Rests();
    rests.begin('a', 500, 1_000);
    rests.begin('b', 60_000, 1_000);
    assert.deepEqual([rests.leftMs('a', 1_200), rests.leftMs('a', 1_500), rests.leftMs('a', 9_000)], [300, 0, 0]);
    assert.equal(rests.leftMs('b', 1_000), 2_000);
    assert.equal(rests.leftMs('never', 1_000), 0);
  });

  it('many rests that are over are forgotten, and those that are not stay', () => {
    const rests = new Rests();
    for (let count = 0; count < 2_000; count += 1) rests.begin(`k-${count}`, 1_000, count < 1_999 ? 0 : 5_000);
    assert.equal(rests.leftMs('k-1999', 5_000), 1_000);
    assert.equal(rests.leftMs('k-0', 5_000), 0);
  });
});
