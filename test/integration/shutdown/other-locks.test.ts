/** Delay locks of others on a real logind that lets locks delay a shutdown for a week. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { chmod } from 'node:fs/promises';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createOtherLocks } from '../../../src/agent/shutdown/other-locks.ts';
import type { Phase } from '../../../src/decide/shutdown/phase.ts';
import { createSystemClock } from '../../../src/host/clock.ts';
import { UnitLock } from '../../../src/host/systemd/inhibitor-unit.ts';
import { connectHost } from '../../logind/host.ts';
import { startPolkit } from '../../logind/polkit.ts';
import { holdLockFor, startLogind } from '../../logind/rig.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { never, waitFor } from '../../support/wait-for.ts';

const WEEK_SEC = 604_800;
const NOBODY = 65_534;
const SHUTDOWN = { maintenance: 'm', mode: 'offline', origin: 'logind', reason: 'r', since: 1, bootId: 'b' } as const;
const DRAINING: Phase = { kind: 'draining', ...SHUTDOWN };
const RELEASED: Phase = { kind: 'released', releasedAt: 2, ...SHUTDOWN };

function inhibitAsNobody(t: TestContext): { readonly child: ChildProcess; said(): string } {
  const inhibit = [
    'systemd-inhibit',
    '--what=shutdown',
    '--mode=delay',
    '--who=nodemaint',
    '--why=mine',
    'sleep',
    '600',
  ];
  const child = spawn('setpriv', [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', ...inhibit]);
  let text = '';
  child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()));
  t.after(() => child.kill('SIGKILL'));
  return { child, said: () => text };
}

describe('a delay lock of another user', () => {
  it('the agent names the lock, which delays the machine no longer than it could without the agent', async (t: TestContext) => {
    await using rig = await startLogind({ inhibitDelayMaxSec: WEEK_SEC }, t.signal);
    using host = connectHost(rig);
    await chmod(path.dirname(rig.address.replace('unix:path=', '')), 0o755);
    const refused = inhibitAsNobody(t);
    await waitFor('without polkit it is refused', () => refused.child.exitCode !== null);
    assert.match(refused.said(), /Access denied/);
    using _polkit = await startPolkit(rig.address);
    inhibitAsNobody(t);
    const listed = async (): Promise<boolean> => (await host.login1.listInhibitors(t.signal)).length === 1;
    await waitFor('with polkit it is granted', listed);

    const { login1, systemd, log } = host;
    const runDirectory = await temporaryFolder(t, 'lock');
    holdLockFor(rig, runDirectory);
    const lock = new UnitLock({ login1, systemd, log, heartbeatPath: path.join(runDirectory, 'alive') });
    await lock.acquire(t.signal);
    const others = createOtherLocks({ host, clock: createSystemClock(), log });
    await rig.reboot();
    await others.reconcile(DRAINING, t.signal);
    assert.equal(others.status().length, 1);
    assert.match(others.status()[0] ?? '', /^nodemaint \(uid 65534, process \d+: mine\)$/);
    await delay(500);
    await others.reconcile(RELEASED, t.signal);
    await lock.release(t.signal);
    await never('logind does not wait for the other lock', () => rig.startedTargets().length > 0, 1_000);

    const releasedAt = performance.now();
    const goesOn = async (): Promise<boolean> => {
      await others.reconcile(RELEASED, t.signal);
      return rig.startedTargets().length > 0;
    };
    await waitFor('logind goes on', goesOn);
    const tookMs = performance.now() - releasedAt;
    t.diagnostic(`went on ${Math.round(tookMs)} ms after the first look without the own lock`);
    assert.equal(rig.startedTargets()[0]?.unit, 'reboot.target');
    assert.ok(tookMs > 4_500, `${tookMs} ms`);
    assert.equal(await systemd.isGoingDown(t.signal), true);
    await others.reconcile(RELEASED, t.signal);
    assert.equal(rig.startedTargets().length, 1);
    assert.match(host.logged.join('\n'), /others delay the shutdown too[^]*going down without them/);
  });
});
