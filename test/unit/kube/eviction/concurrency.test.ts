import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createEvictionConcurrency } from '../../../../src/kube/eviction/concurrency.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

describe('the calls of the Eviction API that are under way', () => {
  it('the calls for one namespace have a bound, beyond which only the first ones of nodes have room', async () => {
    const underWay = createEvictionConcurrency(createSteppingClock());
    const { promise: answer, resolve } = Promise.withResolvers<void>();
    const begin = (count: number): readonly Promise<void>[] =>
      Array.from({ length: count }, () => underWay.during('busy', () => answer));
    const calls = begin(16);
    assert.equal(underWay.pauseMs('busy', false), 100);
    assert.equal(underWay.pauseMs('busy', true), 0);
    assert.equal(underWay.pauseMs('other', false), 0);
    const leading = begin(16);
    assert.equal(underWay.pauseMs('busy', true), 100);
    resolve();
    await Promise.all([...calls, ...leading]);
    assert.equal(underWay.pauseMs('busy', false), 0);
  });
});
