import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SandboxStops } from '../../../../src/host/cri/sandbox-stops.ts';
import type { ContainerRuntime } from '../../../../src/host/cri/runtime.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

const SIGNAL = new AbortController().signal;

/** Stops of one pod whose next stop ends as `outcome` says, after so much time. */
function open() {
  const clock = createSteppingClock();
  const calls: string[] = [];
  const failures: object[] = [];
  const next = { error: undefined as string | undefined, takesMs: 0 };
  const stop = (how: string) => (_id: string, graceSec: number) => {
    calls.push(`${how} ${graceSec}`);
    clock.pass(next.takesMs);
    return next.error === undefined ? Promise.resolve() : Promise.reject(new Error(next.error));
  };
  const runtime = { stopPod: stop('gently'), stopPodByForce: stop('by force') } as unknown as ContainerRuntime;
  const log = { info: () => undefined, warn: (fields: object) => failures.push(fields) };
  const stops = new SandboxStops(runtime, { clock, log });
  const begin = async (error: string | undefined, takesMs = 0): Promise<void> => {
    Object.assign(next, { error, takesMs });
    stops.begin('s1', 30, {}, SIGNAL);
    await new Promise(setImmediate);
  };
  return { clock, calls, failures, begin };
}

describe('the stops of a pod over the container runtime', () => {
  it('a stop that fails at once is repeated with the whole grace period, and never by force before it is over', async () => {
    const { clock, calls, failures, begin } = open();
    for (let second = 0; second < 30; second += 1) {
      await begin('the runtime restarts');
      clock.pass(1_000);
    }
    assert.deepEqual([...new Set(calls)], ['gently 30']);
    assert.equal(failures.length, 30);
    await begin(undefined);
    assert.equal(calls.at(-1), 'by force 30');
  });

  it('a stop that hangs for its whole time is repeated once more with it, and kills only then', async () => {
    const { calls, begin } = open();
    await begin('no answer within 40 s', 40_000);
    await begin(undefined);
    assert.deepEqual(calls, ['gently 30', 'by force 30']);
  });

  it('failures before a time in which the runtime was away do not count', async () => {
    const { clock, calls, begin } = open();
    await begin('the runtime restarts');
    clock.pass(60_000);
    await begin('the runtime restarts');
    await begin(undefined);
    assert.deepEqual([...new Set(calls)], ['gently 30']);
  });

  it('failures before a stop that succeeded do not count', async () => {
    const { clock, calls, begin } = open();
    await begin('no answer within 40 s', 40_000);
    await begin(undefined);
    clock.pass(1_000);
    await begin(undefined);
    assert.deepEqual(calls, ['gently 30', 'by force 30', 'gently 30']);
  });
});
