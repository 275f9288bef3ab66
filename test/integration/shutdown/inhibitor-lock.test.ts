import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { NodemaintError } from '../../../src/errors.ts';
import { createChildLock, createUnitLock, type ShutdownLock } from '../../../src/host/systemd/inhibitor.ts';
import type { Inhibitor } from '../../../src/host/systemd/login1.ts';
import { connectHost, type HostClients } from '../../logind/host.ts';
import { type Logind, startLogind } from '../../logind/rig.ts';
import { makeTestFolder } from '../../support/folder.ts';
import { waitFor } from '../../support/wait-for.ts';

const HOLD_LOCK = new URL('../../logind/hold-lock.ts', import.meta.url).pathname;
const DELAY = { inhibitDelayMaxSec: 60 };
/** Long enough for logind to go on, if it did not wait. */
const HOLD_MS = 300;

interface Bench {
  readonly rig: Logind;
  readonly host: HostClients;
  readonly lost: number[];
  readonly lock: ShutdownLock;
  readonly heartbeatPath: string;
}

async function createBench(t: TestContext, kind: 'child' | 'unit'): Promise<Bench> {
  const rig = await startLogind(DELAY, t.signal);
  const folder = await makeTestFolder('lock');
  const heartbeatPath = path.join(folder, 'run', 'alive');
  rig.standIn.holderEnvironment = { ...rig.standIn.holderEnvironment, NODEMAINT_ALIVE_FILE: heartbeatPath };
  const host = connectHost(rig);
  const lost: number[] = [];
  const onLost = (): void => {
    lost.push(performance.now());
  };
  const { login1, systemd, log } = host;
  const lock =
    kind === 'child'
      ? createChildLock({ login1, log, onLost })
      : createUnitLock({ login1, systemd, log, heartbeatPath });
  t.after(async () => {
    await lock.release(AbortSignal.timeout(5000)).catch(() => undefined);
    host[Symbol.dispose]();
    await rig[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });
  return { rig, host, lost, lock, heartbeatPath };
}

async function ownLocks({ host }: Bench, t: TestContext): Promise<readonly Inhibitor[]> {
  return (await host.login1.listInhibitors(t.signal)).filter(({ who }) => who === 'nodemaint');
}

for (const kind of ['child', 'unit'] as const) {
  describe(`the shutdown lock held by a ${kind}`, () => {
    it('logind lists the lock when it was acquired, and the lock delays a reboot until it is released', async (t: TestContext) => {
      const bench = await createBench(t, kind);
      const { rig, host, lock } = bench;
      assert.equal(await lock.held(t.signal), false);
      const begunAt = performance.now();
      assert.deepEqual(await lock.acquire(t.signal), { kind: 'held' });
      t.diagnostic(`acquired in ${(performance.now() - begunAt).toFixed(1)} ms`);
      assert.deepEqual(await lock.acquire(t.signal), { kind: 'held' });
      const [listed, ...more] = await ownLocks(bench, t);
      assert.equal(more.length, 0);
      assert.partialDeepStrictEqual(listed, { what: 'shutdown', mode: 'delay', uid: 0 });
      assert.match(listed?.why ?? '', /^Waiting for the pods of this node to leave$/);

      await rig.reboot();
      await delay(HOLD_MS);
      assert.deepEqual(rig.startedTargets(), []);
      assert.equal(await host.login1.preparingForShutdown(t.signal), true);
      assert.deepEqual(await lock.acquire(t.signal), { kind: 'held' });
      const releasedAt = Date.now();
      await lock.release(t.signal);
      await waitFor('reboot.target', () => rig.startedTargets().length > 0);
      assert.equal(rig.startedTargets()[0]?.unit, 'reboot.target');
      t.diagnostic(`reboot.target ${(rig.startedTargets()[0]?.at ?? 0) - releasedAt} ms after the release`);
      assert.equal(await lock.held(t.signal), false);
      await lock.release(t.signal);
    });

    it('the lock survives a restart of logind and of the bus', async (t: TestContext) => {
      const bench = await createBench(t, kind);
      const { rig, host, lock, lost } = bench;
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
      assert.deepEqual(await lock.acquire(t.signal), { kind: 'held' });
      assert.deepEqual(await ownLocks(bench, t), before);
      assert.deepEqual(lost, []);
      await rig.powerOff();
      await delay(HOLD_MS);
      assert.deepEqual(rig.startedTargets(), []);
    });

    it(
      kind === 'unit' ? 'the lock outlives a killed agent' : 'the lock ends with a killed agent',
      async (t: TestContext) => {
        const bench = await createBench(t, kind);
        const agent = spawn(process.execPath, [HOLD_LOCK, kind, bench.heartbeatPath]);
        assert.equal(String((await once(agent.stdout, 'data'))[0]).trim(), 'held');
        assert.equal((await ownLocks(bench, t)).length, 1);
        const killedAt = performance.now();
        agent.kill('SIGKILL');
        if (kind === 'unit') {
          await delay(HOLD_MS);
          assert.equal(await bench.lock.held(t.signal), true);
          assert.deepEqual(await bench.lock.acquire(t.signal), { kind: 'held' });
          return;
        }
        await waitFor('given back', async () => (await ownLocks(bench, t)).length === 0);
        t.diagnostic(`given back ${(performance.now() - killedAt).toFixed(0)} ms after the kill`);
      },
    );

    it('the lock cannot be taken while a shutdown is under way, which is no failure', async (t: TestContext) => {
      const { rig, lock, host } = await createBench(t, kind);
      const other = spawn('systemd-inhibit', ['--what=shutdown', '--mode=delay', '--who=other', 'cat']);
      await waitFor('the other lock', async () => (await host.login1.listInhibitors(t.signal)).length === 1);
      await rig.powerOff();
      assert.deepEqual(await lock.acquire(t.signal), { kind: 'shutdown-under-way', held: false });
      other.stdin.end();
      await waitFor('poweroff.target', () => rig.startedTargets().length > 0);
      assert.deepEqual(await lock.acquire(t.signal), { kind: 'shutdown-under-way', held: false });
    });
  });
}

describe('the shutdown lock held by a child', () => {
  for (const victim of ['systemd-inhibit', 'cat'] as const) {
    it(`the lock is reported lost when ${victim} is killed, and can be taken again`, async (t: TestContext) => {
      const bench = await createBench(t, 'child');
      const { lock, lost } = bench;
      await lock.acquire(t.signal);
      const pid = (await ownLocks(bench, t))[0]?.pid ?? 0;
      const { stdout } = spawn('pgrep', ['-P', String(pid)]);
      const child = Number((await stdout.toArray()).join(''));
      const killedAt = performance.now();
      process.kill(victim === 'cat' ? child : pid, 'SIGKILL');
      await waitFor('reported', () => lost.length === 1);
      t.diagnostic(`reported after ${((lost[0] ?? 0) - killedAt).toFixed(1)} ms`);
      await waitFor('not listed any more', async () => !(await lock.held(t.signal)));
      await waitFor('no orphan', async () => !(await isRunning(child)));
      assert.deepEqual(await lock.acquire(t.signal), { kind: 'held' });
      assert.equal((await ownLocks(bench, t)).length, 1);
    });
  }

  it('the lock is not reported lost when it is released', async (t: TestContext) => {
    const { lock, lost } = await createBench(t, 'child');
    await lock.acquire(t.signal);
    await lock.release(t.signal);
    await delay(50);
    assert.deepEqual(lost, []);
  });
});

describe('the shutdown lock held by a unit', () => {
  it('the unit gives the lock back when the agent shows no sign of life', async (t: TestContext) => {
    const { rig, lock, heartbeatPath } = await createBench(t, 'unit');
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
    const { rig, lock } = await createBench(t, 'unit');
    rig.standIn.holderInstalled = false;
    await assert.rejects(
      lock.acquire(t.signal),
      (error) =>
        error instanceof NodemaintError && error.code === 'LOCK_FAILED' && /not found.*install\.sh/.test(error.message),
    );
  });

  it('the agent tells its lock from a lock that another process holds under its name', async (t: TestContext) => {
    const { lock, host } = await createBench(t, 'unit');
    const impostors = [
      ['--what=sleep', '--mode=delay'],
      ['--what=shutdown', '--mode=block'],
    ].map((options) => spawn('systemd-inhibit', [...options, '--who=nodemaint', 'cat']));
    await waitFor('listed', async () => (await host.login1.listInhibitors(t.signal)).length === impostors.length);
    assert.equal(await lock.held(t.signal), false);
    for (const { stdin } of impostors) stdin.end();
  });
});

/** Whether the process runs; one that has ended and waits for its parent does not. */
async function isRunning(pid: number): Promise<boolean> {
  const state = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return state !== '' && !/\) Z /.test(state);
}
