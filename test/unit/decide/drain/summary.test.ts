import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { summaryOf } from '../../../../src/decide/drain/summary.ts';

describe('the summary of the node statuses', () => {
  const status = (name: string, podsPendingEvacuation?: number, podsEvacuating?: number) => ({
    nodeRef: { name },
    ...(podsPendingEvacuation === undefined ? {} : { podsPendingEvacuation }),
    ...(podsEvacuating === undefined ? {} : { podsEvacuating }),
  });

  it('the summary adds up the pods of all nodes, and names the nodes in order', () => {
    assert.deepEqual(summaryOf([status('b', 2, 1), status('a', 3, 4), status('c')]), {
      nodes: 'a, b, c',
      podsPendingEvacuation: 5,
      podsEvacuating: 5,
    });
  });

  it('the summary names the first three of many nodes, and says how many more there are', () => {
    const many = ['e', 'd', 'c', 'b', 'a'].map((name) => status(name));
    assert.equal(summaryOf(many).nodes, 'a, b, c, and 2 more');
    assert.equal(summaryOf([]).nodes, '');
  });

  it('the summary is never longer than what the API allows', () => {
    const long = ['a', 'b', 'c', 'd'].map((letter) => status(letter.repeat(253)));
    assert.ok(summaryOf(long).nodes.length <= 256);
    const three = ['a', 'b', 'c'].map((letter) => status(letter.repeat(100)));
    assert.equal(summaryOf(three).nodes, `${'a'.repeat(100)}, ${'b'.repeat(100)}, and 1 more`);
  });
});
