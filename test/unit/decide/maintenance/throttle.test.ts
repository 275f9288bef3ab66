import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ThrottledDrain, throttleDrains } from '../../../../src/decide/maintenance/throttle.ts';

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
