/** A shutdown that logind has lost: the detector finds it by reading, which changes nothing, and restores it in a step. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createDetectorRig, createPreparing, SIGNAL } from '../../../support/agent/detector-rig.ts';

describe('a shutdown that logind has lost', () => {
  it('the detector requests a shutdown again that logind lost in a restart, until that succeeds', async () => {
    const rig = await createPreparing();
    Object.assign(rig.machine, { processId: 200, preparing: false, requestFails: true });
    assert.deepEqual(await rig.turn(), { kind: 'unknown' });
    rig.machine.requestFails = false;
    assert.deepEqual(await rig.turn(), { kind: 'unknown' }, 'not canceled');
    assert.equal((await rig.turn()).kind, 'yes');
    assert.deepEqual(rig.acts, ['request reboot', 'request reboot']);
  });

  it('a reading changes nothing on a machine whose logind has lost the shutdown', async () => {
    const rig = await createPreparing();
    Object.assign(rig.machine, { processId: 200, preparing: false });
    for (let reading = 0; reading < 2; reading += 1) assert.deepEqual(await rig.read(), { kind: 'unknown' });
    rig.machine.processId = undefined;
    for (let reading = 0; reading < 3; reading += 1) {
      await rig.read();
      rig.clock.pass(20_000);
    }
    assert.deepEqual(rig.acts, []);
  });

  it('what a reading found lost is not restored twice, nor after it was found again, nor for a trigger', async () => {
    const rig = await createPreparing();
    Object.assign(rig.machine, { processId: 200, preparing: false, requestFails: true });
    await rig.turn();
    await rig.detector.restore(SIGNAL).catch(() => undefined);
    assert.equal(rig.acts.length, 1, 'no reading has found it lost again');
    await rig.read();
    rig.machine.preparing = true;
    await rig.turn();
    assert.equal(rig.acts.length, 1, 'somebody else has asked for it');
    Object.assign(rig.machine, { processId: 300, preparing: false });
    await rig.read();
    rig.detector.triggered = { reason: 'power' };
    await rig.turn();
    assert.equal(rig.acts.length, 1, 'the trigger holds the machine');
  });

  it('a shutdown that could not be requested again is a failure of the step', async () => {
    const rig = await createPreparing();
    Object.assign(rig.machine, { processId: 200, preparing: false, requestFails: true });
    await rig.read();
    await assert.rejects(rig.detector.restore(SIGNAL), /not now/);
  });

  it('the detector forgets a shutdown that was canceled', async () => {
    const rig = await createPreparing();
    rig.machine.preparing = false;
    assert.deepEqual(await rig.turn(), { kind: 'no' });
    rig.machine.processId = 200;
    assert.deepEqual(await rig.turn(), { kind: 'no' });
    assert.deepEqual(rig.acts, []);
  });

  it('the detector restarts a logind that has been off the bus for 10 s during a shutdown', async () => {
    const rig = await createPreparing();
    rig.machine.processId = undefined;
    assert.deepEqual(await rig.turn(), { kind: 'unknown' });
    rig.clock.pass(9_999);
    await rig.turn();
    assert.deepEqual(rig.acts, []);
    rig.clock.pass(1);
    await rig.turn();
    assert.deepEqual(rig.acts, ['restart systemd-logind.service']);
    rig.clock.pass(9_999);
    await rig.turn();
    assert.equal(rig.acts.length, 1, 'the 10 s begin again after a restart');
  });

  it('the detector counts the 10 s again after logind was back on the bus', async () => {
    const rig = await createPreparing();
    rig.machine.processId = undefined;
    await rig.turn();
    rig.machine.processId = 100;
    await rig.turn();
    rig.clock.pass(20_000);
    rig.machine.processId = undefined;
    await rig.turn();
    assert.deepEqual(rig.acts, []);
  });

  it('the detector does not restart a logind that is off the bus without a shutdown', async () => {
    const rig = createDetectorRig();
    rig.machine.processId = undefined;
    for (let reading = 0; reading < 3; reading += 1) {
      assert.deepEqual(await rig.turn(), { kind: 'unknown' });
      rig.clock.pass(20_000);
    }
    assert.deepEqual(rig.acts, []);
  });
});

describe('a shutdown that was called off while logind prepares it', () => {
  const RESTART = ['cancel what is scheduled', 'restart systemd-logind.service'];

  it('the detector restarts the logind that still prepares it, until that succeeds, and asks for it no more', async () => {
    const rig = await createPreparing();
    rig.machine.requestFails = true;
    assert.deepEqual(await rig.turn({ voidLogind: 100 }), { kind: 'no', voidLogind: 100 });
    rig.machine.requestFails = false;
    assert.deepEqual(await rig.turn({ voidLogind: 100 }), { kind: 'no', voidLogind: 100 });
    assert.deepEqual(rig.acts, [...RESTART, ...RESTART]);
    Object.assign(rig.machine, { processId: 200, preparing: false });
    assert.deepEqual(await rig.turn({ voidLogind: 100 }), { kind: 'no' });
    assert.deepEqual(rig.acts, [...RESTART, ...RESTART]);
  });

  it('what the next logind prepares is another shutdown', async () => {
    const rig = await createPreparing();
    rig.machine.processId = 200;
    const found = await rig.turn({ voidLogind: 100 });
    assert.deepEqual([found.kind, rig.acts], ['yes', []]);
  });

  it('a logind that named the shutdown and names it no more was told that it is called off', async () => {
    const rig = await createPreparing();
    rig.machine.scheduled = { kind: 'reboot', at: null };
    const named = await rig.turn();
    assert.ok(named.kind === 'yes' && named.namedBy === 100);
    rig.machine.scheduled = null;
    assert.deepEqual(await rig.turn({ namedBy: 100 }), { kind: 'no', voidLogind: 100 });
    assert.deepEqual(rig.acts, RESTART);
  });

  it('a logind that has never named the shutdown says nothing by that', async () => {
    const rig = await createPreparing();
    const found = await rig.turn({ namedBy: 99 });
    assert.deepEqual([found.kind, rig.acts], ['yes', []]);
  });

  it('it is too late once systemd stops units', async () => {
    const rig = await createPreparing();
    rig.machine.stopping = true;
    const found = await rig.turn({ voidLogind: 100 });
    assert.deepEqual([found.kind, rig.acts], ['yes', []]);
  });

  it('a trigger that was given since holds the machine, and the logind is restarted all the same', async () => {
    const rig = await createPreparing();
    rig.detector.triggered = { reason: 'power' };
    const found = await rig.turn({ voidLogind: 100 });
    assert.ok(found.kind === 'yes' && found.origin === 'trigger');
    assert.deepEqual(rig.acts, RESTART);
  });
});
