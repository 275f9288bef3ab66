import assert from 'node:assert/strict';
import process from 'node:process';
import { describe, it } from 'node:test';
import { createOtherLocks, type OtherLocks } from '../../../../src/agent/shutdown/other-locks.ts';
import { delayOfOthersMs, type DelayLock } from '../../../../src/decide/shutdown/other-locks.ts';
import type { Phase } from '../../../../src/decide/shutdown/phase.ts';
import { readLogindConfig } from '../../../../src/host/systemd/logind-config.ts';
import type { Login1 } from '../../../../src/host/systemd/logind.ts';
import type { Systemd } from '../../../../src/host/systemd/manager.ts';
import { DRAINING } from '../../../support/agent/phase-facts.ts';
import { createRecordingLog, type RecordingLog } from '../../../support/agent/recording-log.ts';
import { createSteppingClock, type SteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

const SIGNAL = AbortSignal.timeout(60_000);
const RELEASED: Phase = { ...DRAINING, kind: 'released', releasedAt: 1 };
const OTHER: DelayLock = { what: 'shutdown', who: 'backup', why: 'copies', mode: 'delay', uid: 1000, pid: 7 };
const OWN: DelayLock = { ...OTHER, who: 'nodemaint', uid: process.getuid?.() ?? 0 };

interface Rig {
  readonly others: OtherLocks;
  readonly machine: { locks: readonly DelayLock[]; preparing: boolean; stopping: boolean; kind: 'reboot' | undefined };
  readonly clock: SteppingClock;
  readonly log: RecordingLog;
  /** The shutdowns that were started past the locks. */
  readonly started: readonly string[];
  /** For how long this machine lets others delay a shutdown, in milliseconds. */
  readonly allowedMs: number;
}

/** A machine that prepares a shutdown, with a lock of another user. */
async function createRig(): Promise<Rig> {
  const machine: Rig['machine'] = { locks: [OTHER], preparing: true, stopping: false, kind: 'reboot' };
  const started: string[] = [];
  const login1: Partial<Login1> = {
    listInhibitors: () => Promise.resolve(machine.locks),
    preparingForShutdown: () => Promise.resolve(machine.preparing),
    shutdownRequester: () => Promise.resolve(machine.kind === undefined ? {} : { kind: machine.kind }),
  };
  const systemd: Partial<Systemd> = {
    isGoingDown: () => Promise.resolve(machine.stopping),
    goDown: (kind) => {
      started.push(kind);
      return Promise.resolve();
    },
  };
  const clock = createSteppingClock();
  const log = createRecordingLog();
  const host = { login1: login1 as Login1, systemd: systemd as Systemd };
  const allowedMs = delayOfOthersMs(await readLogindConfig('/', SIGNAL));
  return { others: createOtherLocks({ host, clock, log }), machine, clock, log, started, allowedMs };
}

describe('the locks of others during a shutdown', () => {
  it('the agent names each lock once in the log, and forgets all after the shutdown', async () => {
    const { others, log } = await createRig();
    await others.reconcile(DRAINING, SIGNAL);
    await others.reconcile(DRAINING, SIGNAL);
    assert.deepEqual(others.status(), ['backup (uid 1000, process 7: copies)']);
    assert.equal(log.lines.length, 1);
    await others.reconcile({ kind: 'watching' }, SIGNAL);
    assert.deepEqual(others.status(), []);
  });

  it('the kubelet is known by its lock, which another user cannot take in its name', async () => {
    const { others, machine } = await createRig();
    for (const [uid, expected] of [
      [1000, false],
      [0, true],
    ] as const) {
      machine.locks = [OTHER, { ...OTHER, who: 'kubelet', uid }];
      await others.reconcile(DRAINING, SIGNAL);
      assert.equal(others.hasKubelets(), expected);
    }
    await others.reconcile({ kind: 'watching' }, SIGNAL);
    assert.equal(others.hasKubelets(), false);
  });

  it('the shutdown goes on without the locks when their time is over, and not before', async () => {
    const { others, clock, started, allowedMs } = await createRig();
    await others.reconcile(RELEASED, SIGNAL);
    clock.pass(allowedMs - 1);
    await others.reconcile(RELEASED, SIGNAL);
    assert.deepEqual(started, []);
    clock.pass(1);
    await others.reconcile(RELEASED, SIGNAL);
    assert.deepEqual(started, ['reboot']);
  });

  it('the time of the locks begins only when the drain is over and the own lock is released', async () => {
    const { others, machine, clock, started, allowedMs } = await createRig();
    await others.reconcile(DRAINING, SIGNAL);
    clock.pass(allowedMs);
    machine.locks = [OTHER, OWN];
    await others.reconcile(RELEASED, SIGNAL);
    clock.pass(allowedMs);
    machine.locks = [OTHER];
    await others.reconcile(RELEASED, SIGNAL);
    assert.deepEqual(started, []);
  });

  it('the agent starts no shutdown that systemd already does, or that logind has canceled', async () => {
    for (const change of [{ stopping: true }, { preparing: false }]) {
      const { others, machine, clock, started, allowedMs } = await createRig();
      await others.reconcile(RELEASED, SIGNAL);
      Object.assign(machine, change);
      clock.pass(allowedMs);
      await others.reconcile(RELEASED, SIGNAL);
      assert.deepEqual(started, []);
    }
  });

  it('the agent refuses to guess the kind of a shutdown', async () => {
    const { others, machine, clock, started, allowedMs } = await createRig();
    machine.kind = undefined;
    await others.reconcile(RELEASED, SIGNAL);
    clock.pass(allowedMs);
    await assert.rejects(others.reconcile(RELEASED, SIGNAL), /does not tell which shutdown/);
    assert.deepEqual(started, []);
  });
});
