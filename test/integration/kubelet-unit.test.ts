/** The kubelet's unit is taken away and given back, with a real systemd that runs it. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createSystemClock } from '../../src/host/clock.ts';
import { createSystemBus, type SystemBus } from '../../src/host/dbus.ts';
import { createKubeletUnit, type KubeletUnit } from '../../src/host/kubelet-unit.ts';
import { createSystemd, type Systemd } from '../../src/host/systemd.ts';
import { until } from '../logind/host.ts';
import { type ServiceManager, startManager } from '../systemd/manager.ts';

/** As kubeadm and k3s have them, but for the pause before the restart. */
const UNITS = {
  'kubelet.service': `[Service]
ExecStart=/bin/sh -c 'echo up >> "$HOME/starts"; exec sleep 1000'
Restart=always
RestartSec=100ms
`,
  // The agent's, which stops first and takes its time.
  'nodemaint.service': `[Unit]
After=kubelet.service dbus.service dbus.socket
[Service]
ExecStart=/bin/sleep 1000
ExecStop=/bin/sh -c 'echo stopping > "$HOME/stopping"; sleep 1000'
TimeoutStopSec=infinity
`,
};
/** Longer than the pause before a restart of the kubelet. */
const RESTART_MS = 1_000;

interface Bench {
  readonly manager: ServiceManager;
  readonly bus: SystemBus;
  readonly systemd: Systemd;
  readonly kubelet: KubeletUnit;
  /** How often the kubelet was started. */
  starts(): Promise<number>;
  goDown(): Promise<void>;
}

async function createBench(t: TestContext): Promise<Bench> {
  const manager = await startManager(UNITS, t.signal);
  const lifetime = new AbortController();
  t.after(async () => {
    lifetime.abort();
    await manager[Symbol.asyncDispose]();
  });
  const ignore = (): void => undefined;
  const log = { debug: ignore, info: ignore, warn: ignore, error: ignore };
  const bus = createSystemBus({ address: manager.address, log, clock: createSystemClock() }, lifetime.signal);
  const systemd = createSystemd(bus);
  const read = async (name: string): Promise<string> => await readFile(path.join(manager.folder, name), 'utf8');
  for (const unit of Object.keys(UNITS)) {
    await until(`${unit} is started`, async () => {
      return await systemd.startUnit(unit, t.signal).then(
        () => true,
        () => false,
      );
    });
  }
  const starts = async (): Promise<number> => (await read('starts').catch(() => '')).split('\n').length - 1;
  await until('the kubelet runs', async () => (await starts()) === 1);
  return {
    manager,
    bus,
    systemd,
    kubelet: createKubeletUnit(systemd, 'kubelet.service', manager.folder, 'boot-1'),
    starts,
    goDown: async () => {
      const start = { member: 'StartUnit', signature: 'ss', body: ['exit.target', 'replace-irreversibly'] };
      const manager1 = { destination: 'org.freedesktop.systemd1', path: '/org/freedesktop/systemd1' };
      await bus.call({ ...manager1, interface: 'org.freedesktop.systemd1.Manager', ...start }, t.signal);
      await until("the agent's unit stops", async () => (await read('stopping').catch(() => '')) !== '');
    },
  };
}

describe("the kubelet's unit under a real systemd", () => {
  it('is stopped and given back while nothing else goes on', async (t) => {
    const { kubelet, systemd, starts } = await createBench(t);
    await kubelet.stop(t.signal);
    assert.equal(await systemd.unitActiveState('kubelet.service', t.signal), 'inactive');
    assert.equal(await kubelet.isStopped(), true);
    await delay(RESTART_MS);
    assert.equal(await starts(), 1);
    await kubelet.giveBack(t.signal);
    assert.equal(await systemd.unitActiveState('kubelet.service', t.signal), 'active');
    assert.equal(await kubelet.isStopped(), false);
  });

  it('is ended, and stays so, while its stop waits for the stop of our own unit', async (t) => {
    const { kubelet, systemd, starts, goDown } = await createBench(t);
    await goDown();
    assert.equal(await systemd.unitActiveState('kubelet.service', t.signal), 'active');
    await kubelet.stop(t.signal);
    assert.equal(await systemd.unitActiveState('kubelet.service', t.signal), 'inactive');
    assert.equal(await kubelet.isStopped(), true);
    await delay(RESTART_MS);
    assert.equal(await starts(), 1);
    assert.equal(await systemd.isGoingDown(t.signal), true);
  });
});
