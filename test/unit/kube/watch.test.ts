import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NodemaintError } from '../../../src/errors.ts';
import { createSystemClock } from '../../../src/host/clock.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { NODE_MAINTENANCES, NODES, PODS } from '../../../src/kube/resource.ts';
import { createWatchGroup } from '../../../src/kube/watch-group.ts';
import { createObjectCache, type WatchDependencies } from '../../../src/kube/watch.ts';
import { SILENT_LOG } from '../../support/silent-log.ts';
import { waitFor } from '../../support/wait-for.ts';

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

describe('the copies that are used together', () => {
  /** A watch that stays open until it is aborted or `lose` is called. */
  function createServer(): {
    readonly client: KubeClient;
    answer: (path: string) => number;
    lose: () => void;
    readonly asked: Map<string, number>;
  } {
    let connection = new AbortController();
    const asked = new Map<string, number>();
    const server = {
      asked,
      answer: (_path: string): number => 200,
      lose: () => {
        const lost = connection;
        connection = new AbortController();
        lost.abort();
      },
      client: {
        send: ({ path }: { readonly path: string }) => {
          const [name = ''] = path.split('?');
          asked.set(name, (asked.get(name) ?? 0) + 1);
          const status = server.answer(name);
          if (status === 0) return Promise.reject(new NodemaintError('API_UNREACHABLE', 'away'));
          return Promise.resolve({ status, headers: {}, body: { metadata: { resourceVersion: '1' }, items: [] } });
        },
        watch: async function* (_path: string, signal: AbortSignal) {
          const ended = AbortSignal.any([connection.signal, signal]);
          if (!ended.aborted) await new Promise((resolve) => ended.addEventListener('abort', resolve, { once: true }));
          signal.throwIfAborted();
          yield* [];
          throw new NodemaintError('API_UNREACHABLE', 'lost');
        },
        close: () => undefined,
      },
    };
    return server;
  }

  it('the copies that are used together are not current from the loss of the connection until each has listed again', async () => {
    const server = createServer();
    const clock = createSystemClock();
    const log = SILENT_LOG;
    const group = createWatchGroup(clock);
    const dependencies = { client: server.client, clock, log, group };
    const stop = new AbortController();
    const nodes = createObjectCache({ resource: NODES }, () => undefined, dependencies);
    const pods = createObjectCache({ resource: PODS }, () => undefined, dependencies);
    const running = [nodes.run(stop.signal), pods.run(stop.signal)];
    const all = (): readonly boolean[] => [nodes.current(), pods.current()];
    await waitFor('both', () => all().every(Boolean), { timeoutMs: 3_000 });
    // The server comes back, and refuses one of the two for a while.
    server.answer = () => 0;
    server.lose();
    await waitFor('neither', () => all().every((each) => !each), { timeoutMs: 1_000 });
    await waitFor('pauses that have grown', () => (server.asked.get('/api/v1/pods') ?? 0) > 4, { timeoutMs: 15_000 });
    server.answer = (path) => (path.endsWith('pods') ? 403 : 200);
    await waitFor('the one', () => nodes.current(), { timeoutMs: 15_000 });
    assert.equal(pods.current(), false);
    server.answer = () => 200;
    await waitFor('the other', () => pods.current(), { timeoutMs: 15_000 });
    stop.abort();
    await Promise.all(running);
  });

  it('the copies that are used together end their pauses with the first one that is connected again', async () => {
    const never = new AbortController().signal;
    const group = createWatchGroup(createSystemClock());
    const pauses = [group.pause(600_000, never), group.pause(600_000, never)];
    group.connected();
    await Promise.all(pauses);
    await group.pause(1, never);
  });
});
