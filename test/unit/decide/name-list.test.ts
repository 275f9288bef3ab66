import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { firstNames, namesWithin } from '../../../src/decide/name-list.ts';

describe('a list of names', () => {
  it('a list names the first ones, and counts the others', () => {
    assert.equal(firstNames(['a', 'b', 'c'], 3), 'a, b, c');
    assert.equal(firstNames(['a', 'b', 'c'], 2), 'a, b and 1 more');
    assert.equal(firstNames(['a', 'b', 'c'], 0), ' and 3 more');
    assert.equal(firstNames([], 3), '');
  });

  it('a list has as many names as there is room for, and at least one', () => {
    const names = ['node-a', 'node-b', 'node-c'];
    const cases: [number, number | undefined, string][] = [
      [22, undefined, 'node-a, node-b, node-c'],
      [21, undefined, 'node-a, node-b and 1 more'],
      [14, undefined, 'node-a, node-b and 1 more'],
      [13, undefined, 'node-a and 2 more'],
      [1, undefined, 'node-a and 2 more'],
      [22, 2, 'node-a, node-b and 1 more'],
    ];
    for (const [width, most, expected] of cases) assert.equal(namesWithin(names, width, most), expected, `${width}`);
    assert.equal(namesWithin([], 10), '');
  });
});
