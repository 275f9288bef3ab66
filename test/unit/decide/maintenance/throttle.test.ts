import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { admitDrains, type ThrottledDrain, throttleDrains } from '../../../../src/decide/maintenance/throttle.ts';

/** A drain of the node n1 alone; a later one is younger. */
function drain(name: string, createdAt: number, isShutdown: boolean): ThrottledDrain {
  const forced = isShutdown;
  return { name, createdAt, begun: false, nodes: ['n1'], joining: [], forced, isShutdown, keep: [], comesBack: false };
}

describe('the crowd of drains of one node', () => {
  const people = Array.from({ length: 25 }, (_, at) => drain(`person-${at}`, at, false));
  const shutdowns = Array.from({ length: 25 }, (_, at) => drain(`shutdown-${at}`, at, true));
  const cases: readonly [string, readonly ThrottledDrain[], readonly string[]][] = [
    ['the twenty oldest of people may begin', people, people.slice(20).map(({ name }) => name)],
    ['those that its agent made wait for none', shutdowns, []],
    ['the one of a shutdown does not wait for those of people', [...people.slice(0, 20), drain('s', 99, true)], []],
    ['those of shutdowns take no place of people', [...shutdowns, ...people.slice(0, 20)], []],
  ];
  for (const [title, drains, waiting] of cases) {
    it(title, () => {
      assert.deepEqual([...throttleDrains([], drains, undefined).keys()], waiting);
    });
  }
});

describe('the limit of nodes that are drained at once', () => {
  const of = (name: string, age: number, nodes: readonly string[]) => ({ ...drain(name, -age, false), nodes });
  it('the limit admits those that have begun, then the older ones as long as they fit', () => {
    const all = [of('young', 1, ['c']), of('old', 2, ['b']), { ...of('begun', 0, ['a']), begun: true }];
    assert.deepEqual([...admitDrains(all, 2)], ['begun', 'old']);
  });
  it('the limit counts a node that two maintenances share once', () => {
    assert.equal(admitDrains([of('x', 2, ['a', 'b']), of('y', 1, ['b'])], 2).size, 2);
  });
  it('the limit lets one that is larger than the limit begin when it is alone', () => {
    assert.deepEqual([...admitDrains([of('large', 1, ['a', 'b', 'c'])], 2)], ['large']);
  });
});
