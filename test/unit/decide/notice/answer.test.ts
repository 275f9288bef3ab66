import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { wordDueMs } from '../../../../src/decide/notice/answer.ts';

const EVERY = 60_000;

describe('when a provider is told how far a drain is', () => {
  it('a provider is told a new word at once', () => {
    assert.equal(wordDueMs('draining', EVERY, undefined, 7), 0);
    assert.equal(wordDueMs('ready', EVERY, { word: 'draining', at: 7, failures: 0 }, 7), 0);
    assert.equal(wordDueMs('ready', EVERY, { word: 'draining', at: 7, failures: 9 }, 7), 0);
  });

  it('a provider hears again and again that the node drains, and once that it is ready', () => {
    assert.equal(wordDueMs('draining', EVERY, { word: 'draining', at: 100, failures: 0 }, 10_100), 50_000);
    assert.equal(wordDueMs('draining', EVERY, { word: 'draining', at: 100, failures: 0 }, 90_000), 0);
    assert.equal(wordDueMs('ready', EVERY, { word: 'ready', at: 100, failures: 0 }, 9e9), Infinity);
  });

  it('a provider that does not take the word is told less and less often, down to once a minute', () => {
    const pauses = [1, 2, 3, 4, 5, 50].map((failures) =>
      wordDueMs('ready', EVERY, { word: 'ready', at: 0, failures }, 0),
    );
    assert.deepEqual(pauses, [5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
  });
});
