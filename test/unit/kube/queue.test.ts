import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSystemClock } from '../../../src/host/clock.ts';
import { WorkQueue } from '../../../src/kube/queue.ts';
import { SILENT_LOG } from '../../support/silent-log.ts';

describe('a queue of many keys whose runs only compute', () => {
  it('the queue lets timers and connections have their turn between any two long ones', async () => {
    const stop = new AbortController();
    let ticks = 0;
    let runs = 0;
    const queue = new WorkQueue(
      'test',
      () => {
        const until = performance.now() + 5;
        while (performance.now() < until);
        runs += 1;
        if (runs === 40) stop.abort();
        return Promise.resolve({});
      },
      1,
      { clock: createSystemClock(), log: SILENT_LOG },
    );
    const timer = setInterval(() => (ticks += 1), 1);
    for (let key = 0; key < 40; key += 1) queue.add(`${key}`);
    await queue.run(stop.signal);
    clearInterval(timer);
    assert.ok(ticks >= 20, `${ticks} turns of a timer in ${runs} runs`);
  });
});

describe('a queue of keys', () => {
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
  };
  const dependencies = { clock: createSystemClock(), log: SILENT_LOG };

  it('the queue reconciles a key that failed again after a pause that doubles', async (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] });
    const stop = new AbortController();
    let runs = 0;
    const fail = (): Promise<never> => Promise.reject(new Error(`failed ${(runs += 1)}`));
    const queue = new WorkQueue('test', fail, 1, dependencies);
    const running = queue.run(stop.signal);
    queue.add('a');
    await settle();
    for (const [index, pauseMs] of [100, 200, 400, 800].entries()) {
      assert.equal(runs, index + 1);
      context.mock.timers.tick(pauseMs - 1);
      await settle();
      assert.equal(runs, index + 1);
      context.mock.timers.tick(1);
      await settle();
    }
    assert.equal(runs, 5);
    stop.abort();
    await running;
  });

  it('the queue reconciles as many keys at a time as it may, never one key twice, and ends after the runs under way', async () => {
    const stop = new AbortController();
    const begun: string[] = [];
    const ends = new Map<string, () => void>();
    const reconcile = async (key: string): Promise<object> => {
      begun.push(key);
      await new Promise<void>((resolve) => ends.set(key, resolve));
      return {};
    };
    const queue = new WorkQueue('test', reconcile, 2, dependencies);
    let hasEnded = false;
    const running = queue.run(stop.signal).then(() => (hasEnded = true));
    for (const key of ['a', 'b', 'c']) queue.add(key);
    await settle();
    queue.add('a');
    assert.deepEqual(begun, ['a', 'b']);
    ends.get('b')?.();
    await settle();
    assert.deepEqual(begun, ['a', 'b', 'c'], 'a waits until its run has ended');
    ends.get('a')?.();
    await settle();
    assert.deepEqual(begun, ['a', 'b', 'c', 'a']);
    stop.abort();
    queue.add('d');
    ends.get('c')?.();
    await settle();
    assert.equal(hasEnded, false);
    ends.get('a')?.();
    await running;
    assert.deepEqual(begun, ['a', 'b', 'c', 'a']);
  });

  it('the queue takes urgent keys first, and lets others have a turn between many of them', async () => {
    const stop = new AbortController();
    const order: string[] = [];
    const queue = new WorkQueue(
      'test',
      (key) => {
        order.push(key);
        if (order.length === 24) stop.abort();
        return Promise.resolve({});
      },
      1,
      { ...dependencies, isUrgent: (key) => key.startsWith('urgent') },
    );
    for (let key = 0; key < 4; key += 1) queue.add(`patient-${key}`);
    for (let key = 0; key < 20; key += 1) queue.add(`urgent-${key}`);
    await queue.run(stop.signal);
    const patient = order.flatMap((key, index) => (key.startsWith('patient') ? [index] : []));
    assert.deepEqual(patient, [8, 17, 22, 23]);
  });

  it('a key that waits already is not added again, and goes first once it is urgent', async () => {
    const stop = new AbortController();
    const order: string[] = [];
    let isUrgent = false;
    const queue = new WorkQueue(
      'test',
      (key) => {
        order.push(key);
        if (order.length === 3) stop.abort();
        return Promise.resolve({});
      },
      1,
      { ...dependencies, isUrgent: () => isUrgent },
    );
    for (const key of ['a', 'b', 'a', 'c']) queue.add(key);
    isUrgent = true;
    queue.add('c');
    await queue.run(stop.signal);
    assert.deepEqual(order, ['c', 'a', 'b']);
  });

  it('the queue runs no key beside one that it has to wait for, and others meanwhile', async () => {
    const stop = new AbortController();
    const order: string[] = [];
    const under = new Set<string>();
    const queue = new WorkQueue(
      'test',
      async (key) => {
        assert.ok(![...under].some((other) => other[0] === key[0]), `${key} beside ${[...under].join(', ')}`);
        under.add(key);
        order.push(key);
        await settle();
        under.delete(key);
        if (order.length === 4) stop.abort();
        return {};
      },
      4,
      { ...dependencies, hasToWait: (key, running) => [...running].some((other) => other[0] === key[0]) },
    );
    for (const key of ['a1', 'a2', 'a3', 'b1']) queue.add(key);
    await queue.run(stop.signal);
    assert.deepEqual(order, ['a1', 'b1', 'a2', 'a3']);
  });

  it('the queue forgets the time that a key was to be run at when a later run asks for no other', async (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] });
    const stop = new AbortController();
    let runs = 0;
    const look = (): Promise<{ againMs?: number }> => {
      runs += 1;
      return Promise.resolve(runs === 1 ? { againMs: 3_600_000 } : {});
    };
    const queue = new WorkQueue('test', look, 1, dependencies);
    const running = queue.run(stop.signal);
    queue.add('a');
    await settle();
    queue.add('a');
    await settle();
    assert.equal(runs, 2);
    context.mock.timers.tick(7_200_000);
    await settle();
    assert.equal(runs, 2);
    stop.abort();
    await running;
  });
});
