import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createKubeletObserver } from '../../../../src/agent/static-pods/kubelet-state.ts';
import { createRecordingLog } from '../../../support/agent/recording-log.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

const SIGNAL = new AbortController().signal;

describe('the observer of the kubelet', () => {
  it('a kubelet is down since its first failure, and since a later one when nobody has asked for a while', async () => {
    const clock = createSteppingClock();
    const log = createRecordingLog();
    const world = { isUp: false, isStopped: false };
    const kubeletUp = () => Promise.resolve(world.isUp);
    const kubeletStopped = () => Promise.resolve(world.isStopped);
    const observe = createKubeletObserver({ kubeletUp, kubeletStopped, clock, log });
    const since = clock.now();
    assert.deepEqual(await observe(SIGNAL), { kind: 'down', since });
    clock.pass(9_000);
    assert.deepEqual(await observe(SIGNAL), { kind: 'down', since });
    assert.equal(log.lines.length, 1);
    clock.pass(60_000);
    assert.deepEqual(await observe(SIGNAL), { kind: 'down', since: since + 69_000 });
    world.isUp = true;
    assert.deepEqual(await observe(SIGNAL), { kind: 'up' });
    world.isStopped = true;
    assert.deepEqual(await observe(SIGNAL), { kind: 'stopped' });
  });
});
