import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Clock } from '../../../src/host/clock.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { createServerClock } from '../../../src/kube/server-clock.ts';

const START = 1_000_000_000_000;
const never = new AbortController().signal;

/** A machine's clock and an API server, whose answers take `tookMs`; both are moved by hand. */
function createWorld(): {
  readonly clock: Clock;
  readonly client: KubeClient;
  pass(ms: number): void;
  set(wallAheadMs: number, serverAheadMs: number): void;
  answer(next: { readonly tookMs?: number; readonly date?: string | undefined }): void;
  serverNow(): number;
} {
  let elapsed = 0;
  let wallAhead = 0;
  let serverAhead = 0;
  let next: { readonly tookMs?: number; readonly date?: string | undefined } = {};
  const serverNow = (): number => START + elapsed + serverAhead;
  return {
    clock: { now: () => START + elapsed + wallAhead, monotonic: () => 5_000 + elapsed, sleep: () => Promise.resolve() },
    client: {
      send: () => {
        elapsed += next.tookMs ?? 0;
        const date = 'date' in next ? next.date : new Date(serverNow()).toUTCString();
        return Promise.resolve({ status: 200, headers: date === undefined ? {} : { date }, body: {} });
      },
      watch: () => {
        throw new Error('not used');
      },
      close: () => undefined,
    },
    pass: (ms) => (elapsed += ms),
    set: (wallAheadMs, serverAheadMs) => {
      wallAhead = wallAheadMs;
      serverAhead = serverAheadMs;
    },
    answer: (answer) => (next = answer),
    serverNow,
  };
}

describe('the clock of the API server', () => {
  it('the clock tells how far it is ahead of this machine, also after this machine was set', async () => {
    const world = createWorld();
    const server = createServerClock(world.clock);
    assert.equal(server.aheadMs(), 0);
    world.set(-3_600_000, 0);
    await server.noting(world.client).send({ method: 'GET', path: '/' }, never);
    assert.ok(Math.abs(server.aheadMs() - 3_600_000) <= 500);
    world.set(0, 0);
    assert.equal(server.aheadMs(), 0);
    world.set(-60_000, 0);
    assert.ok(Math.abs(server.aheadMs() - 60_000) <= 500);
    world.set(1_000, 0);
    await server.noting(world.client).send({ method: 'GET', path: '/' }, never);
    assert.equal(server.aheadMs(), 0);
  });

  for (const aheadMs of [60_000, -60_000, 3_600_000, -3_600_000]) {
    it(`the clock shows the time of the answers where this machine is ${aheadMs / 1000} s ahead`, async () => {
      const world = createWorld();
      world.set(aheadMs, 0);
      const server = createServerClock(world.clock);
      assert.equal(server.clock.now(), START + aheadMs);
      await server.noting(world.client).send({ method: 'GET', path: '/' }, never);
      assert.ok(Math.abs(server.clock.now() - world.serverNow()) <= 500);
      world.pass(90_000);
      assert.ok(Math.abs(server.clock.now() - world.serverNow()) <= 500);
    });
  }

  it('the clock is exactly that of this machine where both agree, and where an answer took long or says no time', async () => {
    const world = createWorld();
    const server = createServerClock(world.clock);
    const client = server.noting(world.client);
    for (const answer of [{}, { tookMs: 30_000 }, { date: 'no time' }, { date: undefined }]) {
      world.answer(answer);
      await client.send({ method: 'GET', path: '/' }, never);
      assert.equal(server.clock.now(), world.clock.now());
    }
  });

  it('the clock does not jump when the clock of this machine is set, and follows the API server when that is set', async () => {
    const world = createWorld();
    const server = createServerClock(world.clock);
    const client = server.noting(world.client);
    await client.send({ method: 'GET', path: '/' }, never);
    world.set(-3_600_000, 0);
    assert.equal(server.clock.now(), START);
    await client.send({ method: 'GET', path: '/' }, never);
    assert.ok(Math.abs(server.clock.now() - world.serverNow()) <= 500);
    world.set(0, 7_200_000);
    await client.send({ method: 'GET', path: '/' }, never);
    assert.ok(Math.abs(server.clock.now() - world.serverNow()) <= 500);
  });

  it('one clock learns from the answers of several clients', async () => {
    const world = createWorld();
    world.set(-60_000, 0);
    const server = createServerClock(world.clock);
    server.noting(world.client);
    await server.noting(world.client).send({ method: 'GET', path: '/' }, never);
    assert.ok(Math.abs(server.clock.now() - world.serverNow()) <= 500);
  });
});
