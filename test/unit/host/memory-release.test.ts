import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createMemoryRelease } from '../../../src/host/memory-release.ts';

const HOUR_MS = 3_600_000;

/** A clock that a test sets; its sleeps end at once. */
function setup(living: AbortSignal): { release: () => void; collections: () => number; at: (ms: number) => void } {
  let now = 0;
  let collections = 0;
  const clock = {
    monotonic: () => now,
    sleep: async (_ms: number, signal: AbortSignal) => {
      await nextTurn();
      signal.throwIfAborted();
    },
  };
  const collect = (async () => {
    collections += 1;
  }) as NodeJS.GCFunction;
  return {
    release: createMemoryRelease(clock, collect, living),
    collections: () => collections,
    at: (ms) => {
      now = ms;
    },
  };
}

/** Longer than the sleep of the clock above. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await nextTurn();
}

describe('the release of memory', () => {
  it('a program that rests often collects once an hour', async () => {
    const { release, collections, at } = setup(new AbortController().signal);
    release();
    release();
    await settle();
    at(HOUR_MS - 1);
    release();
    await settle();
    assert.equal(collections(), 1);
    at(HOUR_MS);
    release();
    await settle();
    assert.equal(collections(), 2);
  });

  it('a program that ends does not collect', async () => {
    const ending = new AbortController();
    const { release, collections } = setup(ending.signal);
    release();
    ending.abort();
    release();
    await settle();
    assert.equal(collections(), 0);
  });

  it('a Node.js without the flag rests all the same', () => {
    const clock = { monotonic: () => 0, sleep: async () => undefined };
    createMemoryRelease(clock, undefined, new AbortController().signal)();
  });
});
