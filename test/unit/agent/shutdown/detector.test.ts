import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createShutdownDetector, type ShutdownDetector } from '../../../../src/agent/shutdown/detector.ts';
import type { ScheduledShutdown, ShutdownRequester } from '../../../../src/decide/shutdown/detection.ts';
import type { ShutdownKind } from '../../../../src/decide/shutdown/kind.ts';
import type { PhaseFacts } from '../../../../src/decide/shutdown/phase.ts';
import type { Trigger } from '../../../../src/decide/shutdown/trigger.ts';
import type { Login1 } from '../../../../src/host/systemd/login1.ts';
import type { Systemd } from '../../../../src/host/systemd/systemd1.ts';
import { createRecordingLog, type RecordingLog } from '../../../support/agent/recording-log.ts';
import { createSteppingClock, type SteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

const SIGNAL = AbortSignal.timeout(60_000);
const LEAD_MS = 60_000;
const BY_ROOT: ShutdownRequester = { kind: 'reboot', uid: 0, tty: 'pts/1', wall: 'new kernel' };

/** What logind and systemd answer; an Error is thrown. */
interface Machine {
  processId: number | undefined;
  preparing: boolean | Error;
  scheduled: ScheduledShutdown | null;
  requester: ShutdownRequester | Error;
  stopping: boolean;
  queued: ShutdownKind | undefined;
  state: string | Error;
  /** Whether the next request for a shutdown fails. */
  requestFails: boolean;
}

interface Rig {
  readonly machine: Machine;
  readonly detector: ShutdownDetector;
  readonly clock: SteppingClock;
  readonly log: RecordingLog;
  /** The calls that change the machine. */
  readonly acts: readonly string[];
  read(): Promise<PhaseFacts['goingDown']>;
}

function answer<T>(value: T | Error): Promise<T> {
  return value instanceof Error ? Promise.reject(value) : Promise.resolve(value);
}

/** A detector on a machine that stays up, whose answers the test changes. */
function createRig(triggered?: Trigger): Rig {
  const machine: Machine = {
    processId: 100,
    preparing: false,
    scheduled: null,
    requester: {},
    stopping: false,
    queued: undefined,
    state: 'running',
    requestFails: false,
  };
  const acts: string[] = [];
  const login1: Partial<Login1> = {
    processId: () => answer(machine.processId),
    preparingForShutdown: () => answer(machine.preparing),
    scheduledShutdown: () => answer(machine.scheduled),
    shutdownRequester: () => answer(machine.requester),
    request: (kind) => {
      acts.push(`request ${kind}`);
      if (machine.requestFails) return Promise.reject(new Error('not now'));
      machine.preparing = true;
      return Promise.resolve();
    },
  };
  const systemd: Partial<Systemd> = {
    isGoingDown: () => answer(machine.stopping),
    queuedShutdown: () => answer(machine.queued),
    systemState: () => answer(machine.state),
    restartUnit: (name) => {
      acts.push(`restart ${name}`);
      return Promise.resolve();
    },
  };
  const clock = createSteppingClock();
  const log = createRecordingLog();
  const host = { login1: login1 as Login1, systemd: systemd as Systemd };
  const detector = createShutdownDetector({ host, triggered, leadMs: LEAD_MS, clock, log });
  return { machine, detector, clock, log, acts, read: () => detector.read(SIGNAL) };
}

/** A rig whose logind prepares a reboot and has been read once. */
async function createPreparing(): Promise<Rig> {
  const rig = createRig();
  rig.machine.preparing = true;
  rig.machine.requester = BY_ROOT;
  assert.equal((await rig.read()).kind, 'yes');
  return rig;
}

describe('the shutdown detector', () => {
  it('the detector names the requester of a shutdown that logind prepares', async () => {
    const rig = await createPreparing();
    const reason = 'node reboot requested by root on pts/1: new kernel';
    assert.deepEqual(await rig.read(), { kind: 'yes', origin: 'logind', reason, shutdownKind: 'reboot' });
  });

  it('the detector names the queued kind where systemd stops units without logind', async () => {
    const rig = createRig();
    Object.assign(rig.machine, { stopping: true, queued: 'poweroff', requester: BY_ROOT });
    assert.deepEqual(await rig.read(), {
      kind: 'yes',
      origin: 'unit-stop',
      reason: 'node poweroff',
      shutdownKind: 'poweroff',
    });
  });

  it('the detector takes no kind from a request of logind where systemd stops units without it', async () => {
    const rig = createRig();
    Object.assign(rig.machine, { stopping: true, queued: undefined, requester: BY_ROOT });
    assert.deepEqual(await rig.read(), { kind: 'yes', origin: 'unit-stop', reason: 'node shutdown' });
  });

  it('the detector reports a scheduled shutdown, and begins the lead ahead of its time', async () => {
    const rig = createRig();
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
    const rig = createRig();
    Object.assign(rig.machine, { preparing: true, requester: new Error('no answer') });
    assert.deepEqual(await rig.read(), { kind: 'yes', origin: 'logind', reason: 'node shutdown' });
  });

  it('the detector requests a shutdown again that logind lost in a restart, until that succeeds', async () => {
    const rig = await createPreparing();
    Object.assign(rig.machine, { processId: 200, preparing: false, requestFails: true });
    assert.deepEqual(await rig.read(), { kind: 'unknown' });
    rig.machine.requestFails = false;
    assert.equal((await rig.read()).kind, 'yes');
    assert.deepEqual(rig.acts, ['request reboot', 'request reboot']);
  });

  it('the detector forgets a shutdown that was canceled', async () => {
    const rig = await createPreparing();
    rig.machine.preparing = false;
    assert.deepEqual(await rig.read(), { kind: 'no' });
    rig.machine.processId = 200;
    assert.deepEqual(await rig.read(), { kind: 'no' });
    assert.deepEqual(rig.acts, []);
  });

  it('the detector restarts a logind that has been off the bus for 10 s during a shutdown', async () => {
    const rig = await createPreparing();
    rig.machine.processId = undefined;
    assert.deepEqual(await rig.read(), { kind: 'unknown' });
    rig.clock.pass(9_999);
    await rig.read();
    assert.deepEqual(rig.acts, []);
    rig.clock.pass(1);
    await rig.read();
    assert.deepEqual(rig.acts, ['restart systemd-logind.service']);
    rig.clock.pass(9_999);
    await rig.read();
    assert.equal(rig.acts.length, 1, 'the 10 s begin again after a restart');
  });

  it('the detector counts the 10 s again after logind was back on the bus', async () => {
    const rig = await createPreparing();
    rig.machine.processId = undefined;
    await rig.read();
    rig.machine.processId = 100;
    await rig.read();
    rig.clock.pass(20_000);
    rig.machine.processId = undefined;
    await rig.read();
    assert.deepEqual(rig.acts, []);
  });

  it('the detector does not restart a logind that is off the bus without a shutdown', async () => {
    const rig = createRig();
    rig.machine.processId = undefined;
    for (let reading = 0; reading < 3; reading += 1) {
      assert.deepEqual(await rig.read(), { kind: 'unknown' });
      rig.clock.pass(20_000);
    }
    assert.deepEqual(rig.acts, []);
  });

  it('the log has one line for each change of what is wrong with logind', async () => {
    const rig = createRig();
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
    const rig = createRig({ by: 'root', reason: 'triggered before the restart', deadline: 5_000 });
    rig.machine.preparing = new Error('no reply');
    const reason = 'triggered before the restart';
    assert.deepEqual(await rig.read(), { kind: 'yes', origin: 'trigger', reason, triggerDeadline: 5_000 });
    rig.detector.trigger(undefined);
    assert.deepEqual(await rig.read(), { kind: 'unknown' });
    rig.detector.trigger({ by: 'group', reason: 'power' });
    assert.deepEqual(await rig.read(), { kind: 'yes', origin: 'trigger', reason: 'power' });
  });

  it('a machine goes down without a trigger where logind or systemd says so, or cannot be asked', async () => {
    const rig = createRig({ by: 'group', reason: 'power' });
    assert.equal(await rig.detector.goesDown(SIGNAL), false);
    rig.machine.stopping = true;
    assert.equal(await rig.detector.goesDown(SIGNAL), true);
    Object.assign(rig.machine, { stopping: false, preparing: true });
    assert.equal(await rig.detector.goesDown(SIGNAL), true);
    rig.machine.preparing = new Error('no reply');
    assert.equal(await rig.detector.goesDown(SIGNAL), true);
  });

  it('the manager counts as stopping where systemd says so or cannot be asked', async () => {
    const rig = createRig();
    assert.equal(await rig.detector.managerStopping(SIGNAL), false);
    rig.machine.state = 'stopping';
    assert.equal(await rig.detector.managerStopping(SIGNAL), true);
    rig.machine.state = new Error('no reply');
    assert.equal(await rig.detector.managerStopping(SIGNAL), true);
  });

  it('an aborted reading throws instead of an answer', async () => {
    const rig = createRig();
    rig.machine.preparing = new Error('no reply');
    rig.machine.state = new Error('no reply');
    const aborted = AbortSignal.abort(new Error('the agent ends'));
    await assert.rejects(rig.detector.read(aborted), /the agent ends/);
    await assert.rejects(rig.detector.managerStopping(aborted), /the agent ends/);
  });

  it('a machine without logind and systemd goes down by a trigger only', async () => {
    const log = createRecordingLog();
    const dependencies = { host: undefined, triggered: undefined, leadMs: LEAD_MS, clock: createSteppingClock(), log };
    const detector = createShutdownDetector(dependencies);
    assert.deepEqual(await detector.read(SIGNAL), { kind: 'no' });
    assert.equal(await detector.managerStopping(SIGNAL), false);
    detector.trigger({ by: 'root', reason: 'power' });
    assert.deepEqual(await detector.read(SIGNAL), { kind: 'yes', origin: 'trigger', reason: 'power' });
  });
});
