import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createWakeup } from '../../../../src/agent/iteration/wakeup.ts';

const SIGNAL = new AbortController().signal;

/** A clock that moves only by sleeping. */
function createStandingClock() {
  let now = 0;
  return {
    monotonic: () => now,
    sleep: (ms: number, signal: AbortSignal) => {
      signal.throwIfAborted();
      now += ms;
      return Promise.resolve();
    },
  };
}

describe('the wakeup of the loop', () => {
  it('the wakeup passes a few events on at once, and many together four times a second', async () => {
    const clock = createStandingClock();
    const waker = createWakeup(clock);
    const times: number[] = [];
    for (let iteration = 0; iteration < 15; iteration += 1) {
      waker.notify();
      await waker.wait(60_000, SIGNAL);
      times.push(clock.monotonic());
    }
    assert.deepEqual(times, [...Array<number>(12).fill(0), 250, 500, 750]);
  });

  it('the wakeup passes an event on at once again when there were none for a second', async () => {
    const clock = createStandingClock();
    const waker = createWakeup(clock);
    for (let iteration = 0; iteration < 16; iteration += 1) {
      waker.notify();
      await waker.wait(60_000, SIGNAL);
    }
    const before = clock.monotonic();
    await waker.wait(1_000, SIGNAL);
    assert.equal(clock.monotonic() - before, 1_000, 'no event: the whole time');
    waker.notify();
    await waker.wait(60_000, SIGNAL);
    assert.equal(clock.monotonic() - before, 1_000, 'an event: at once');
  });

  it('the wakeup is never later than the loop wants to look again', async () => {
    const clock = createStandingClock();
    const waker = createWakeup(clock);
    for (let iteration = 0; iteration < 12; iteration += 1) {
      waker.notify();
      await waker.wait(60_000, SIGNAL);
    }
    waker.notify();
    await waker.wait(20, SIGNAL);
    assert.equal(clock.monotonic(), 20);
  });
});
