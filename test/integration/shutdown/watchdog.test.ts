/** The watchdog of the agent's unit, with a real systemd that runs it. */
import assert from 'node:assert/strict';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod';
import { createSystemClock } from '../../../src/host/clock.ts';
import { createSystemBus } from '../../../src/host/dbus/bus.ts';
import { Systemd } from '../../../src/host/systemd/manager.ts';
import { readAgentStatus } from '../../support/commands/nodemaint.ts';
import { PROGRAM } from '../../support/commands/program.ts';
import { startManager } from '../../systemd/manager.ts';
import { makeTestFolder } from '../../support/folder.ts';
import { writeAgentFiles } from '../../support/agent/files.ts';
import { SILENT_LOG } from '../../support/silent-log.ts';
import { eventually, waitFor } from '../../support/wait-for.ts';

const UNIT = 'nodemaint.service';
const WATCHDOG_SEC = 4;

/** The lines of the agent's unit that count here, but for the times. */
function unitOf(configFile: string): string {
  return `[Service]
Type=notify
NotifyAccess=all
ExecStart=${process.execPath} ${PROGRAM.join(' ')} agent --config ${configFile}
Restart=always
RestartSec=1s
TimeoutStartSec=60s
WatchdogSec=${WATCHDOG_SEC}s
TimeoutAbortSec=1s
KillMode=mixed
`;
}

async function writeConfig(t: TestContext): Promise<{ configFile: string; runDirectory: string }> {
  const folder = await makeTestFolder('watchdog');
  t.after(() => rm(folder, { recursive: true }));
  await mkdir(path.join(folder, 'manifests'));
  return await writeAgentFiles(folder, { nodeName: 'n', bootIdPath: undefined, cloud: { provider: 'none' } });
}

async function numberOf(systemd: Systemd, name: string, signal: AbortSignal): Promise<number> {
  return z
    .number()
    .catch(Number.NaN)
    .parse(await systemd.unitProperty(UNIT, 'Service', name, signal));
}

describe('the watchdog of the agent', () => {
  it('the watchdog leaves a living agent alone, and restarts one that hangs', async (t) => {
    const { configFile, runDirectory } = await writeConfig(t);
    await using manager = await startManager({ [UNIT]: unitOf(configFile) }, t.signal);
    const lifetime = new AbortController();
    t.after(() => lifetime.abort());
    const bus = createSystemBus(
      { address: manager.address, log: SILENT_LOG, clock: createSystemClock() },
      lifetime.signal,
    );
    const systemd = new Systemd(bus);
    const starts = (): Promise<boolean> =>
      systemd.startUnit(UNIT, t.signal).then(
        () => true,
        () => false,
      );
    await waitFor('the agent is up', starts, { timeoutMs: 60_000 });
    await delay(WATCHDOG_SEC * 2_000);
    assert.equal(await numberOf(systemd, 'NRestarts', t.signal), 0);
    await eventually(async () => {
      assert.equal((await readAgentStatus(runDirectory)).phase.kind, 'watching');
    });

    const manager1 = { destination: 'org.freedesktop.systemd1', path: '/org/freedesktop/systemd1' };
    const kill = { member: 'KillUnit', signature: 'ssi', body: [UNIT, 'main', 19] };
    await bus.call({ ...manager1, interface: 'org.freedesktop.systemd1.Manager', ...kill }, t.signal);
    const isAnew = async (): Promise<boolean> => (await numberOf(systemd, 'NRestarts', t.signal)) === 1;
    await waitFor('the agent is started anew', isAnew, { timeoutMs: 30_000 });
    const answers = async (): Promise<boolean> =>
      (await readAgentStatus(runDirectory).catch(() => undefined))?.phase.kind === 'watching';
    await waitFor('it answers again', answers, { timeoutMs: 30_000 });
  });
});
