import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeletStop } from '../../../../../src/agent/drain/offline/stop-pods.ts';
import { NodemaintError } from '../../../../../src/errors.ts';
import { createRecordingLog } from '../../../../support/agent/recording-log.ts';
import { createSteppingClock } from '../../../../support/stand-ins/stepping-clock.ts';

const SIGNAL = new AbortController().signal;

/** A kubelet that refuses to stop with this error, while there is one. */
function open(first: NodemaintError | undefined) {
  const world = { error: first };
  const clock = createSteppingClock();
  const log = createRecordingLog();
  const kubelet = { stop: () => (world.error === undefined ? Promise.resolve() : Promise.reject(world.error)) };
  return { world, clock, log, stop: new KubeletStop(kubelet, clock, log) };
}

describe('the stop of the kubelet for an offline drain', () => {
  it('a bus that is away for some seconds does not end the attempts, and is logged once', async () => {
    const { world, clock, log, stop } = open(new NodemaintError('DBUS_UNAVAILABLE', 'the bus is away'));
    for (let second = 0; second < 29; second += 1) {
      assert.equal(await stop.stop(SIGNAL), false);
      clock.pass(1_000);
    }
    assert.deepEqual([stop.hasGivenUp(), stop.refusal(), log.lines.length], [false, 'the bus is away', 1]);
    world.error = undefined;
    assert.equal(await stop.stop(SIGNAL), true);
    assert.equal(stop.refusal(), undefined);
  });

  it('the attempts end after half a minute of refusals', async () => {
    const { clock, stop } = open(new NodemaintError('DBUS_CALL_FAILED', 'refused'));
    await stop.stop(SIGNAL);
    clock.pass(30_000);
    await stop.stop(SIGNAL);
    assert.equal(stop.hasGivenUp(), false, 'two attempts are too few, as after a pause of the machine');
    await stop.stop(SIGNAL);
    assert.deepEqual([stop.hasGivenUp(), await stop.stop(SIGNAL)], [true, false]);
  });

  it('the attempts end at the third one where the kubelet can never be stopped by itself', async () => {
    const { stop } = open(new NodemaintError('CONFIG_INVALID', 'k3s.service runs the kubelet and containerd together'));
    for (const expected of [false, false, true]) {
      await stop.stop(SIGNAL);
      assert.equal(stop.hasGivenUp(), expected);
    }
  });
});
