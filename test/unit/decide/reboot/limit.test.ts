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

  it('a machine that waits says for whom', () => {
    const [message] = rebootsOverLimit(asked('z'), new Set(['b', 'a']), 2).values();
    assert.equal(message, 'Waiting for its turn to reboot: a, b first, at most 2 machines at once.');
  });
});
