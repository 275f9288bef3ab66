import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createEvictionConcurrency } from '../../../../src/kube/eviction/concurrency.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

describe('the calls of the Eviction API that are under way', () => {
  it('the calls for one namespace have a bound', async () => {
    const underWay = createEvictionConcurrency(createSteppingClock());
    const { promise: answer, resolve } = Promise.withResolvers<void>();
    const begin = (count: number): readonly Promise<void>[] =>
      Array.from({ length: count }, () => underWay.during('busy', () => answer));
    const first = begin(31);
    assert.equal(underWay.pauseMs('busy'), 0);
    const last = begin(1);
    assert.equal(underWay.pauseMs('busy'), 100);
    assert.equal(underWay.pauseMs('other'), 0);
    resolve();
    await Promise.all([...first, ...last]);
    assert.equal(underWay.pauseMs('busy'), 0);
  });
});
