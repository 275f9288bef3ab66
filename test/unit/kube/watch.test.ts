import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NodemaintError } from '../../../src/errors.ts';
import { createSystemClock } from '../../../src/host/clock.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { NODE_MAINTENANCES } from '../../../src/kube/resource.ts';
import { createObjectCache, type WatchDependencies } from '../../../src/kube/watch.ts';
import { SILENT_LOG } from '../../support/silent-log.ts';

/** The monotonic clock. */
const now = { ms: 0 };

interface WatchRun {
  /** In milliseconds. */
  readonly pauses: readonly number[];
  /** The `retryMs` of each warning. */
  readonly logged: readonly unknown[];
  readonly lists: number;
}

/** Runs a cache until it has paused this often. */
async function pausesOf(watch: KubeClient['watch'], count: number): Promise<WatchRun> {
  const pauses: number[] = [];
  const logged: unknown[] = [];
  const log = { ...SILENT_LOG, warn: (fields: { retryMs?: unknown }): unknown => logged.push(fields.retryMs) };
  let lists = 0;
  const stop = new AbortController();
  const client: KubeClient = {
    send: () => {
      lists += 1;
      return Promise.resolve({ status: 200, headers: {}, body: { metadata: { resourceVersion: '1' }, items: [] } });
    },
    watch,
    close: () => undefined,
  };
  const sleep: WatchDependencies['clock']['sleep'] = (ms) => {
    pauses.push(ms);
    if (pauses.length === count) stop.abort();
    return Promise.resolve();
  };
  const clock = { ...createSystemClock(), sleep, monotonic: () => now.ms };
  const cache = createObjectCache({ resource: NODE_MAINTENANCES }, () => undefined, { client, clock, log });
  await cache.run(stop.signal);
  return { pauses, logged, lists };
}

/** A watch that ends after these events. */
function of(events: readonly object[]): KubeClient['watch'] {
  return async function* () {
    await Promise.resolve();
    yield* events;
  };
}

/** A watch that fails at once. */
function failing(reason: Error): KubeClient['watch'] {
  const next = async (): Promise<never> => {
    await Promise.resolve();
    throw reason;
  };
  return () => ({ [Symbol.asyncIterator]: () => ({ next }) });
}

describe('a watch', () => {
  it('a watch that the server closes as soon as it is open is opened ever less often, up to half a minute and its jitter', async () => {
    const { pauses, lists } = await pausesOf(of([]), 40);
    assert.equal(lists, 1, 'nothing is listed anew for that');
    assert.ok((pauses[0] ?? 0) < 400, 'the first time it is opened again at once');
    const late = pauses.slice(10);
    assert.ok(
      late.every((ms) => ms >= 15_000 && ms <= 45_000),
      late.join(),
    );
  });

  it('a watch of a server that is away is tried at least every 23 s', async () => {
    const { pauses } = await pausesOf(failing(new NodemaintError('API_UNREACHABLE', 'away')), 40);
    const late = pauses.slice(10);
    assert.ok(
      late.every((ms) => ms >= 7_500 && ms <= 22_500),
      late.join(),
    );
  });

  it('a watch that is interrupted logs the pause that it takes', async () => {
    const { pauses, logged } = await pausesOf(failing(new NodemaintError('API_UNREACHABLE', 'away')), 12);
    assert.deepEqual(logged, pauses);
  });

  it('a watch that is interrupted after a long time logs the pause that it takes', async () => {
    const { pauses, logged } = await pausesOf(() => {
      now.ms += 60_000;
      throw new NodemaintError('API_UNREACHABLE', 'away');
    }, 12);
    assert.deepEqual(logged, pauses);
    assert.ok(pauses.every((ms) => ms <= 375));
  });

  it('a watch that brings an event which is too large begins again with a list', async () => {
    const { lists } = await pausesOf(failing(new NodemaintError('API_ANSWER_TOO_LARGE', 'an event')), 3);
    assert.equal(lists, 3);
  });

  it('a watch that was silent until it was given up begins again with a list, and one that brought a bookmark does not', async () => {
    for (const [events, lists] of [
      [[], 3],
      [[{ type: 'BOOKMARK', object: { metadata: { name: '', resourceVersion: '2' } } }], 1],
    ] as const) {
      const silent = await pausesOf(async function* () {
        yield* events;
        now.ms += 150_000;
        await Promise.resolve();
      }, 3);
      assert.equal(silent.lists, lists);
    }
  });

  it('a watch that is told that its version is gone begins again with a list, also ever less often', async () => {
    const { lists, pauses } = await pausesOf(of([{ type: 'ERROR', object: { code: 410 } }]), 12);
    assert.equal(lists, 12);
    assert.ok((pauses.at(-1) ?? 0) >= 15_000);
  });
});
