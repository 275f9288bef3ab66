import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm, stat } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { NodemaintError } from '../../../src/errors.ts';
import { UnitLock } from '../../../src/host/systemd/inhibitor-unit.ts';
import type { Inhibitor } from '../../../src/host/systemd/logind.ts';
import { connectHost, type HostClients } from '../../logind/host.ts';
import { holdLockFor, type Logind, startLogind } from '../../logind/rig.ts';
import { makeTestFolder } from '../../support/folder.ts';
import { waitFor } from '../../support/wait-for.ts';

const HOLD_LOCK = new URL('../../logind/hold-lock.ts', import.meta.url).pathname;
const DELAY = { inhibitDelayMaxSec: 60 };
/** Long enough for logind to go on, if it did not wait. */
const HOLD_MS = 300;

interface Bench {
  readonly rig: Logind;
  readonly host: HostClients;
  readonly lock: UnitLock;
  readonly heartbeatPath: string;
}

async function createBench(t: TestContext): Promise<Bench> {
  const rig = await startLogind(DELAY, t.signal);
  const folder = await makeTestFolder('lock');
  const runDirectory = path.join(folder, 'run');
  const heartbeatPath = path.join(runDirectory, 'alive');
  holdLockFor(rig, runDirectory);
  const host = connectHost(rig);
  const { login1, systemd, log } = host;
  const lock = new UnitLock({ login1, systemd, log, heartbeatPath });
  t.after(async () => {
    await lock.release(AbortSignal.timeout(5000)).catch(() => undefined);
    host[Symbol.dispose]();
    await rig[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });
  return { rig, host, lock, heartbeatPath };
}

async function ownLocks({ host }: Bench, t: TestContext): Promise<readonly Inhibitor[]> {
  return (await host.login1.listInhibitors(t.signal)).filter(({ who }) => who === 'nodemaint');
}

describe('the shutdown lock', () => {
  it('logind lists the lock when it was acquired, and the lock delays a reboot until it is released', async (t: TestContext) => {
    const bench = await createBench(t);
    const { rig, host, lock } = bench;
    assert.equal(await lock.held(t.signal), false);
    const begunAt = performance.now();
    assert.equal(await lock.acquire(t.signal), true);
    t.diagnostic(`acquired in ${(performance.now() - begunAt).toFixed(1)} ms`);
    assert.equal(await lock.acquire(t.signal), true);
    const [listed, ...more] = await ownLocks(bench, t);
    assert.equal(more.length, 0);
    assert.partialDeepStrictEqual(listed, { what: 'shutdown', mode: 'delay', uid: 0 });
    assert.match(listed?.why ?? '', /^Waiting for the pods of this node to leave$/);

    await rig.reboot();
    await delay(HOLD_MS);
    assert.deepEqual(rig.startedTargets(), []);
    assert.equal(await host.login1.preparingForShutdown(t.signal), true);
    assert.equal(await lock.acquire(t.signal), true);
    const releasedAt = Date.now();
    await lock.release(t.signal);
    await waitFor('reboot.target', () => rig.startedTargets().length > 0);
    assert.equal(rig.startedTargets()[0]?.unit, 'reboot.target');
    t.diagnostic(`reboot.target ${(rig.startedTargets()[0]?.at ?? 0) - releasedAt} ms after the release`);
    assert.equal(await lock.held(t.signal), false);
    await lock.release(t.signal);
  });

  it('the lock survives a restart of logind and of the bus', async (t: TestContext) => {
    const bench = await createBench(t);
    const { rig, host, lock } = bench;
    await lock.acquire(t.signal);
    const before = await ownLocks(bench, t);
    await rig.restartLogind('SIGKILL');
    assert.equal(await lock.held(t.signal), true);
    await rig.restartDbus();
    await waitFor('logind answers', () =>
      host.login1.preparingForShutdown(t.signal).then(
        () => true,
        () => false,
      ),
    );
    assert.equal(await lock.acquire(t.signal), true);
    assert.deepEqual(await ownLocks(bench, t), before);
    await rig.powerOff();
    await delay(HOLD_MS);
    assert.deepEqual(rig.startedTargets(), []);
  });

  it('the lock outlives a killed agent', async (t: TestContext) => {
    const bench = await createBench(t);
    const agent = spawn(process.execPath, [HOLD_LOCK, bench.heartbeatPath]);
    assert.equal(String((await once(agent.stdout, 'data'))[0]).trim(), 'true');
    assert.equal((await ownLocks(bench, t)).length, 1);
    agent.kill('SIGKILL');
    await delay(HOLD_MS);
    assert.equal(await bench.lock.held(t.signal), true);
    assert.equal(await bench.lock.acquire(t.signal), true);
  });

  it('the lock cannot be taken while a shutdown is under way, which is no failure', async (t: TestContext) => {
    const { rig, lock, host } = await createBench(t);
    const other = spawn('systemd-inhibit', ['--what=shutdown', '--mode=delay', '--who=other', 'cat']);
    await waitFor('the other lock', async () => (await host.login1.listInhibitors(t.signal)).length === 1);
    await rig.powerOff();
    assert.equal(await lock.acquire(t.signal), false);
    other.stdin.end();
    await waitFor('poweroff.target', () => rig.startedTargets().length > 0);
    assert.equal(await lock.acquire(t.signal), false);
  });

  it('the unit gives the lock back when the agent shows no sign of life', async (t: TestContext) => {
    const { rig, lock, heartbeatPath } = await createBench(t);
    const environment = { NODEMAINT_DEAD_MAN_SEC: '2', NODEMAINT_CHECK_SEC: '1' };
    rig.standIn.holderEnvironment = { ...rig.standIn.holderEnvironment, ...environment };
    await lock.acquire(t.signal);
    const { mtimeMs } = await stat(heartbeatPath);
    for (let beats = 0; beats < 6; beats += 1) {
      await delay(500);
      await (beats % 2 === 0 ? lock.heartbeat() : lock.acquire(t.signal));
    }
    assert.ok((await stat(heartbeatPath)).mtimeMs > mtimeMs);
    assert.equal(await lock.held(t.signal), true);
    await rig.reboot();
    await waitFor('given back', async () => !(await lock.held(t.signal)));
    await waitFor('reboot.target', () => rig.startedTargets().length > 0);
  });

  it('the error says what to do when the unit is not installed', async (t: TestContext) => {
    const { rig, lock } = await createBench(t);
    rig.standIn.holderInstalled = false;
    await assert.rejects(
      lock.acquire(t.signal),
      (error) =>
        error instanceof NodemaintError && error.code === 'LOCK_FAILED' && /not found.*install\.sh/.test(error.message),
    );
  });

  it('the agent tells its lock from a lock that another process holds under its name', async (t: TestContext) => {
    const { lock, host } = await createBench(t);
    const impostors = [
      ['--what=sleep', '--mode=delay'],
      ['--what=shutdown', '--mode=block'],
    ].map((options) => spawn('systemd-inhibit', [...options, '--who=nodemaint', 'cat']));
    await waitFor('listed', async () => (await host.login1.listInhibitors(t.signal)).length === impostors.length);
    assert.equal(await lock.held(t.signal), false);
    for (const { stdin } of impostors) stdin.end();
  });
});
