import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { chosenNodes, parseNodeChoice } from '../../../../src/cli/maintenance/choice.ts';
import type { MaintenanceClient } from '../../../../src/kube/maintenance/client.ts';

/** What a person writes, and what it means; a text is the beginning of the refusal. */
const choices: [readonly string[], string | undefined, string | object][] = [
  [['node-a'], undefined, { kind: 'names', names: ['node-a'] }],
  [['node/node-a', 'node-b'], undefined, { kind: 'names', names: ['node-a', 'node-b'] }],
  [[], 'pool=web', { kind: 'selector', selector: 'pool=web' }],
  [[], undefined, 'name a node, or choose nodes by their labels with -l'],
  [[], '', '-l must not be empty'],
  [[], '  ', '-l must not be empty'],
  [['node-a'], 'pool=web', '-l pool=web cannot be used together with names'],
];

describe('the nodes that a command line means', () => {
  for (const [names, selector, expected] of choices) {
    it(`names ${JSON.stringify(names)} and the selector ${JSON.stringify(selector)} are ${typeof expected === 'string' ? 'refused' : 'understood'}`, () => {
      if (typeof expected !== 'string') assert.deepEqual(parseNodeChoice(names, selector), expected);
      else {
        assert.throws(
          () => parseNodeChoice(names, selector),
          (error: Error & { code?: string }) => error.code === 'USAGE' && error.message.startsWith(expected),
        );
      }
    });
  }

  it('nodes that are chosen by labels are listed by them, sorted; a selector that matches none does nothing', async () => {
    const asked: string[] = [];
    const clientOf = (...names: readonly string[]): MaintenanceClient =>
      ({
        list: (_resource: unknown, query: string) => {
          asked.push(query);
          return Promise.resolve(names.map((name) => ({ metadata: { name } })));
        },
      }) as unknown as MaintenanceClient;
    const { signal } = new AbortController();
    const choice = { kind: 'selector', selector: 'pool in (a,b)' } as const;
    assert.deepEqual(await chosenNodes(clientOf('b', 'a'), choice, signal), ['a', 'b']);
    assert.deepEqual(asked, ['labelSelector=pool%20in%20(a%2Cb)']);
    await assert.rejects(
      chosenNodes(clientOf(), choice, signal),
      /no node has the labels pool in \(a,b\); nothing was done/,
    );
    assert.deepEqual(await chosenNodes(clientOf('b'), { kind: 'names', names: ['x'] }, signal), ['x']);
    assert.equal(asked.length, 2);
  });
});
