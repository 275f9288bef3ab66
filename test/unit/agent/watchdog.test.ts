import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { beatEveryMs, LoopWatchdog } from '../../../src/agent/watchdog.ts';

describe("the loop's watchdog", () => {
  it('beats while the loop makes progress, stops while it hangs, and outlives a beat that fails', async () => {
    let now = 0;
    const beats: number[] = [];
    const end = new AbortController();
    const clock = {
      monotonic: () => now,
      sleep: (ms: number): Promise<void> => {
        now += ms;
        if (now === 600_000) watchdog.markProgress();
        if (now === 1_400_000) end.abort();
        return Promise.resolve();
      },
    };
    const failing = (): Promise<void> => Promise.reject(new Error('read-only'));
    const beat = (): Promise<void> => {
      beats.push(now);
      return Promise.resolve();
    };
    const watchdog = new LoopWatchdog([failing, beat], 100_000, clock);
    await watchdog.run(end.signal);
    assert.deepEqual(beats, [0, 100_000, 200_000, 600_000, 700_000, 800_000]);
  });
});

describe('the pause between two beats', () => {
  const pauses: [string, string | undefined, number][] = [
    ["what the lock's holder allows", undefined, 45_000],
    ['no more under a patient watchdog', '180000000', 45_000],
    ['half of what a short watchdog allows', '10000000', 5_000],
    ['not taken from what is no time', 'soon', 45_000],
    ['not taken from a watchdog that is off', '0', 45_000],
  ];
  for (const [name, watchdogUsec, expected] of pauses) {
    it(`is ${name}`, () => {
      assert.equal(beatEveryMs(watchdogUsec), expected);
    });
  }
});
