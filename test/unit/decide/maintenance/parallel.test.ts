import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { admitDrains } from '../../../../src/decide/maintenance/parallel.ts';

describe('the limit of nodes that are drained at once', () => {
  const drain = (
    name: string,
    age: number,
    nodes: readonly string[],
    begun = false,
  ): Parameters<typeof admitDrains>[0][0] => ({ name, createdAt: -age, begun, nodes });
  it('the limit admits those that have begun, then the older ones as long as they fit', () => {
    const all = [drain('young', 1, ['c']), drain('old', 2, ['b']), drain('begun', 0, ['a'], true)];
    assert.deepEqual([...admitDrains(all, 2)], ['begun', 'old']);
  });
  it('the limit counts a node that two maintenances share once', () => {
    assert.equal(admitDrains([drain('x', 2, ['a', 'b']), drain('y', 1, ['b'])], 2).size, 2);
  });
  it('the limit lets one that is larger than the limit begin when it is alone', () => {
    assert.deepEqual([...admitDrains([drain('large', 1, ['a', 'b', 'c'])], 2)], ['large']);
  });
});
