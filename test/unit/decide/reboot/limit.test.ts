import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseRebootLimit, placesOf, rebootsOverLimit } from '../../../../src/decide/reboot/limit.ts';

describe('the limit of machines that reboot at once', () => {
  it('the limit is a number or a percentage of the nodes, and at least one', () => {
    const places = (text: string, nodes: number): number | undefined => {
      const limit = parseRebootLimit(text);
      return limit === undefined ? undefined : placesOf(limit, nodes);
    };
    assert.deepEqual(
      [places('3', 1), places('10%', 3), places('10%', 19), places('10%', 20), places('100%', 7), places('1%', 0)],
      [3, 1, 1, 2, 7, 1],
    );
    for (const text of ['', '0', '0%', '101%', '-1', '1.5', '10 %', 'all', '1000000']) {
      assert.equal(parseRebootLimit(text), undefined, text);
    }
  });

  const asked = (...nodes: readonly string[]): { node: string; askedAt: number }[] =>
    nodes.map((node, askedAt) => ({ node, askedAt }));
  const waiting = (...given: Parameters<typeof rebootsOverLimit>): readonly string[] => [
    ...rebootsOverLimit(...given).keys(),
  ];

  it('machines go down in the order in which they were asked to, as many as there are places', () => {
    assert.deepEqual(waiting(asked('c', 'a', 'b').toReversed(), new Set(), 1), ['a', 'b']);
    assert.deepEqual(waiting(asked('c', 'a', 'b'), new Set(), 2), ['b']);
    assert.deepEqual(waiting(asked('c', 'a', 'b'), new Set(), 3), []);
    const same = ['b', 'a', 'c'].map((node) => ({ node, askedAt: Infinity }));
    assert.deepEqual(waiting(same, new Set(), 1), ['b', 'c'], 'by their names where nothing else tells');
  });

  it('a machine that has a place takes none of another one, and one beyond the limit keeps others waiting', () => {
    assert.deepEqual(waiting(asked('a', 'b'), new Set(['a']), 2), []);
    assert.deepEqual(waiting(asked('c'), new Set(['a', 'b']), 1), ['c']);
  });

  it('a machine that waits says for whom', () => {
    const [message] = rebootsOverLimit(asked('z'), new Set(['b', 'a']), 2).values();
    assert.equal(message, 'Waiting for its turn to reboot: a, b first, at most 2 machines at once.');
  });
});
