import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import {
  kernelBootIdOf,
  learnSoftReboots,
  markRunning,
  markSoftReboot,
  readBootId,
  unmarkRunning,
} from '../../../../src/agent/shutdown/boot-id.ts';
import type { ShutdownKind } from '../../../../src/decide/shutdown/kind.ts';
import type { Systemd } from '../../../../src/host/systemd/manager.ts';
import { openTestState } from '../../../support/agent/state.ts';
import { temporaryFolder } from '../../../support/folder.ts';

describe('the identity of a boot', () => {
  const systemdWith = (count: number | undefined, queued?: ShutdownKind): Systemd =>
    ({
      softReboots: () => Promise.resolve(count),
      queuedShutdown: () => Promise.resolve(queued),
    }) as Partial<Systemd> as Systemd;
  const { signal } = new AbortController();
  async function paths(t: TestContext): Promise<{ bootIdPath: string; runDirectory: string }> {
    const folder = await temporaryFolder(t, 'state');
    const bootIdPath = path.join(folder, 'boot_id');
    await writeFile(bootIdPath, 'boot-1\n');
    return { bootIdPath, runDirectory: path.join(folder, 'run') };
  }

  it('a count of soft-reboots that cannot be read is not that of another boot', async (t) => {
    const place = await paths(t);
    await mkdir(path.join(place.runDirectory, 'soft-reboots'), { recursive: true });
    await assert.rejects(readBootId(place), { code: 'CONFIG_INVALID' });
  });

  it('the identity of a boot changes with each soft-reboot that systemd counts, and stays while systemd cannot be asked', async (t) => {
    const place = await paths(t);
    await learnSoftReboots(systemdWith(0), place.runDirectory, signal);
    assert.equal(await readBootId(place), 'boot-1');
    await learnSoftReboots(systemdWith(1), place.runDirectory, signal);
    assert.equal(await readBootId(place), 'boot-1+1');
    const mute = { softReboots: () => Promise.reject(new Error('no bus')) } as Partial<Systemd> as Systemd;
    await learnSoftReboots(mute, place.runDirectory, signal);
    assert.equal(await readBootId(place), 'boot-1+1');
    assert.equal(kernelBootIdOf(await readBootId(place)), 'boot-1', 'what the kubelet says');
  });

  it('the identity of a boot is refused where it is empty: all boots would be the same', async (t) => {
    const place = await paths(t);
    await writeFile(place.bootIdPath, '\n');
    await assert.rejects(readBootId(place), /cannot read the boot id .*boot_id: it is empty \(key "bootIdPath"\)/);
  });

  it('the identity of a boot changes by a mark where systemd does not count, and only for a soft-reboot', async (t) => {
    const place = await paths(t);
    for (const queued of ['reboot', undefined] as const) {
      await markSoftReboot(systemdWith(undefined, queued), place.runDirectory, signal);
    }
    assert.equal(await readBootId(place), 'boot-1');
    await markSoftReboot(systemdWith(undefined, 'soft-reboot'), place.runDirectory, signal);
    await learnSoftReboots(systemdWith(undefined), place.runDirectory, signal);
    assert.equal(await readBootId(place), 'boot-1+1');
    await markSoftReboot(systemdWith(1, 'soft-reboot'), place.runDirectory, signal);
    assert.equal(await readBootId(place), 'boot-1+1');
  });
});

describe('the mark of a running agent', () => {
  it('the mark of a running agent tells that a boot ended under the agent, and not that the agent was restarted or ended', async (t) => {
    const folder = await temporaryFolder(t, 'state');
    const state = await openTestState(folder);
    assert.equal(await markRunning(state, 'boot-1'), false, 'the first start of all');
    assert.equal(await markRunning(state, 'boot-1'), false, 'killed and started again');
    assert.equal(await markRunning(state, 'boot-2'), true, 'the machine went down under it');
    await unmarkRunning(state);
    assert.equal(await markRunning(state, 'boot-3'), false, 'it was ended before the machine went down');
  });
});
