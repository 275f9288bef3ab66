import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLoopWatchdog, pulseEveryMs } from '../../../src/agent/watchdog.ts';
import { statusLine } from '../../../src/agent/control/status-line.ts';
import type { AgentStatus } from '../../../src/agent/control/status.ts';

describe('the watchdog of the loop', () => {
  it('the watchdog beats while the loop gets anywhere, stops while it hangs, and outlives a beat that fails', async () => {
    let now = 0;
    const beats: number[] = [];
    const end = new AbortController();
    const clock = {
      sleep: (ms: number): Promise<void> => {
        now += ms;
        if (now === 300) pulse.alive();
        if (now === 700) end.abort();
        return Promise.resolve();
      },
    };
    const beat = (): Promise<void> => {
      beats.push(now);
      return now === 0 ? Promise.reject(new Error('read-only')) : Promise.resolve();
    };
    const pulse = createLoopWatchdog({ everyMs: 50, patienceMs: 150, beat }, clock, () => now);
    await pulse.run(end.signal);
    assert.deepEqual(beats, [0, 50, 100, 300, 350, 400]);
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
    it(`the pause is ${name}`, () => {
      assert.equal(pulseEveryMs(watchdogUsec), expected);
    });
  }
});

describe("the unit's status line", () => {
  const waiting = { on: 'kubelet', message: '' };
  const status = { summary: 'shutdown held' } as AgentStatus;

  it('the status line names what has been waited for the longest, and how many more', () => {
    const waitingFor = [
      { ...waiting, what: 'default/web', since: 0 },
      { ...waiting, what: 'default/db', since: 2_000 },
      { ...waiting, what: 'default/log', since: 1_000 },
    ];
    const line = statusLine({ ...status, waitingFor });
    assert.equal(line, 'shutdown held; waiting for default/log (kubelet) since 1970-01-01T00:00:01Z and 2 more');
  });

  it('the status line is the phase alone where nothing is waited for', () => {
    assert.equal(statusLine({ ...status, waitingFor: [] }), 'shutdown held');
  });
});
