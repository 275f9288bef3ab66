import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSystemClock } from '../../../src/host/clock.ts';
import { createWorkQueue } from '../../../src/kube/queue.ts';
import { SILENT_LOG } from '../../support/silent-log.ts';

describe('a queue of many keys whose runs only compute', () => {
  it('the queue lets timers and connections have their turn between any two of them', async () => {
    const stop = new AbortController();
    let ticks = 0;
    let runs = 0;
    const queue = createWorkQueue(
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
    const timer = setInterval(() => {
      ticks += 1;
    }, 1);
    for (let key = 0; key < 40; key += 1) queue.add(`${key}`);
    await queue.run(stop.signal);
    clearInterval(timer);
    assert.ok(ticks >= 20, `${ticks} turns of a timer in ${runs} runs`);
  });
});
