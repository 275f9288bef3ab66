import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ShutdownDetector } from '../../../../src/agent/shutdown/detector.ts';
import { BY_ROOT, createDetectorRig, createPreparing, LEAD_MS, SIGNAL } from '../../../support/agent/detector-rig.ts';
import { createRecordingLog } from '../../../support/agent/recording-log.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

describe('the shutdown detector', () => {
  it('the detector names the requester of a shutdown that logind prepares', async () => {
    const rig = await createPreparing();
    const reason = 'node reboot requested by root on pts/1: new kernel';
    assert.deepEqual(await rig.read(), { kind: 'yes', origin: 'logind', reason, shutdownKind: 'reboot' });
  });

  it('the detector names the queued kind where systemd stops units without logind', async () => {
    const rig = createDetectorRig();
    Object.assign(rig.machine, { stopping: true, queued: 'poweroff', requester: BY_ROOT });
    assert.deepEqual(await rig.read(), {
      kind: 'yes',
      origin: 'unit-stop',
      reason: 'node poweroff',
      shutdownKind: 'poweroff',
    });
  });

  it('the detector takes no kind from a request of logind where systemd stops units without it', async () => {
    const rig = createDetectorRig();
    Object.assign(rig.machine, { stopping: true, queued: undefined, requester: BY_ROOT });
    assert.deepEqual(await rig.read(), { kind: 'yes', origin: 'unit-stop', reason: 'node shutdown' });
  });

  it('the detector reports a scheduled shutdown, and begins the lead ahead of its time', async () => {
    const rig = createDetectorRig();
    const scheduled = { kind: 'reboot', at: rig.clock.now() + LEAD_MS + 5_000 };
    rig.machine.scheduled = scheduled;
    assert.deepEqual(await rig.read(), { kind: 'no' });
    assert.deepEqual(rig.detector.scheduled(), scheduled);
    assert.equal(rig.detector.beginsInMs(), 5_000);
    rig.clock.pass(6_000);
    assert.equal(rig.detector.beginsInMs(), 0);
    assert.deepEqual(await rig.read(), {
      kind: 'yes',
      origin: 'schedule',
      reason: 'node reboot',
      shutdownKind: 'reboot',
    });
    rig.machine.scheduled = null;
    assert.deepEqual(await rig.read(), { kind: 'no' });
    assert.equal(rig.detector.beginsInMs(), Infinity);
  });

  it('a shutdown goes on where logind does not tell who requested it', async () => {
    const rig = createDetectorRig();
    Object.assign(rig.machine, { preparing: true, requester: new Error('no answer') });
    assert.deepEqual(await rig.read(), { kind: 'yes', origin: 'logind', reason: 'node shutdown' });
  });

  it('the log has one line for each change of what is wrong with logind', async () => {
    const rig = createDetectorRig();
    rig.machine.preparing = new Error('no reply');
    for (let reading = 0; reading < 2; reading += 1) assert.deepEqual(await rig.read(), { kind: 'unknown' });
    rig.machine.processId = undefined;
    for (let reading = 0; reading < 2; reading += 1) await rig.read();
    Object.assign(rig.machine, { processId: 100, preparing: false });
    await rig.read();
    rig.machine.processId = undefined;
    await rig.read();
    assert.deepEqual(
      rig.log.lines.map((line) => line.split(' ', 1)[0]),
      ['warn', 'error', 'error'],
    );
    assert.match(rig.log.lines[0] ?? '', /no reply/);
    assert.match(rig.log.lines[1] ?? '', /systemctl restart systemd-logind/);
  });

  it('a trigger counts before the machine is asked, until it is withdrawn', async () => {
    const rig = createDetectorRig({ reason: 'triggered before the restart', deadline: 5_000 });
    rig.machine.preparing = new Error('no reply');
    const reason = 'triggered before the restart';
    assert.deepEqual(await rig.read(), { kind: 'yes', origin: 'trigger', reason, triggerDeadline: 5_000 });
    rig.detector.triggered = undefined;
    assert.deepEqual(await rig.read(), { kind: 'unknown' });
    rig.detector.triggered = { reason: 'power' };
    assert.deepEqual(await rig.read(), { kind: 'yes', origin: 'trigger', reason: 'power' });
  });

  it('what the machine does without a trigger is what logind and systemd say', async () => {
    const rig = createDetectorRig({ reason: 'power' });
    const course = () => rig.detector.course(SIGNAL);
    assert.deepEqual(await course(), { kind: 'up' });
    rig.machine.scheduled = { kind: 'reboot', at: 1 };
    assert.deepEqual(await course(), { kind: 'scheduled' });
    rig.machine.preparing = true;
    assert.deepEqual(await course(), { kind: 'prepared', logind: 100 });
    rig.machine.stopping = true;
    assert.deepEqual(await course(), { kind: 'stopping' });
    Object.assign(rig.machine, { stopping: false, preparing: new Error('no reply') });
    assert.deepEqual(await course(), { kind: 'unknown' });
    Object.assign(rig.machine, { preparing: false, processId: undefined });
    assert.deepEqual(await course(), { kind: 'unknown' });
  });

  it('the manager counts as stopping where systemd says so or cannot be asked', async () => {
    const rig = createDetectorRig();
    assert.equal(await rig.detector.managerStopping(SIGNAL), false);
    rig.machine.state = 'stopping';
    assert.equal(await rig.detector.managerStopping(SIGNAL), true);
    rig.machine.state = new Error('no reply');
    assert.equal(await rig.detector.managerStopping(SIGNAL), true);
  });

  it('an aborted reading throws instead of an answer', async () => {
    const rig = createDetectorRig();
    rig.machine.preparing = new Error('no reply');
    rig.machine.state = new Error('no reply');
    const aborted = AbortSignal.abort(new Error('the agent ends'));
    await assert.rejects(rig.detector.read({}, aborted), /the agent ends/);
    await assert.rejects(rig.detector.managerStopping(aborted), /the agent ends/);
  });

  it('a machine without logind and systemd goes down by a trigger only', async () => {
    const log = createRecordingLog();
    const dependencies = { host: undefined, triggered: undefined, leadMs: LEAD_MS, clock: createSteppingClock(), log };
    const detector = new ShutdownDetector(dependencies);
    assert.deepEqual(await detector.read({}, SIGNAL), { kind: 'no' });
    assert.equal(await detector.managerStopping(SIGNAL), false);
    detector.triggered = { reason: 'power' };
    assert.deepEqual(await detector.read({}, SIGNAL), { kind: 'yes', origin: 'trigger', reason: 'power' });
  });
});
