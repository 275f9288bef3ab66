/** What any user of the machine can do to the agent over a bus that has the policy of the system's own bus. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { chmod } from 'node:fs/promises';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import process from 'node:process';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { createSystemClock } from '../../../src/host/clock.ts';
import { createSystemBus } from '../../../src/host/dbus/bus.ts';
import { asUser } from '../../support/commands/other-user.ts';
import { SILENT_LOG } from '../../support/silent-log.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { waitFor } from '../../support/wait-for.ts';

const FLOODER = path.join(import.meta.dirname, 'bus-flooder.ts');
const NOBODY = 65_534;
const DBUS = { destination: 'org.freedesktop.DBus', path: '/org/freedesktop/DBus', interface: 'org.freedesktop.DBus' };

describe('a user who floods the agent with signals over the system bus', () => {
  it('the flood delays the loop for less than a second, and takes none of its memory', async (t) => {
    const folder = await temporaryFolder(t, 'bus');
    await chmod(folder, 0o755);
    const address = `unix:path=${folder}/bus`;
    const config = ['--config-file=/usr/share/dbus-1/system.conf', `--address=${address}`, '--nofork', '--nopidfile'];
    const daemon = spawn('dbus-daemon', config, { stdio: 'ignore' });
    t.after(() => daemon.kill());
    const lifetime = new AbortController();
    t.after(() => lifetime.abort());
    const bus = createSystemBus({ address, log: SILENT_LOG, clock: createSystemClock() }, lifetime.signal);
    const names = async (): Promise<readonly string[]> =>
      (await bus.call({ ...DBUS, member: 'ListNames' }, t.signal))[0] as string[];
    await waitFor('the bus answers', () => names().then(Boolean, () => false));
    const own = (await names()).find((name) => name.startsWith(':')) ?? '';

    const before = process.memoryUsage.rss();
    const loop = monitorEventLoopDelay({ resolution: 10 });
    loop.enable();
    const flooder = [process.execPath, '--disable-warning=ExperimentalWarning', FLOODER, address, own, '5', '2000000'];
    const [program, ...flags] = asUser({ uid: NOBODY, gid: NOBODY }, flooder);
    const flood = promisify(execFile)(program, flags, { timeout: 40_000 });
    assert.match((await flood).stdout, /^sent/);
    assert.ok((await names()).includes(own), 'the connection is the same');
    loop.disable();
    const grownMb = (process.memoryUsage.rss() - before) / 1e6;
    const delayMs = loop.max / 1e6;
    t.diagnostic(`loop held up for ${Math.round(delayMs)} ms, ${Math.round(grownMb)} MB more memory`);
    assert.ok(grownMb < 100, `${grownMb} MB`);
  });
});
