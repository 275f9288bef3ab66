/** The kubelet's unit is taken away and given back, with a real systemd that runs it. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { KubeletHome } from '../../../src/decide/machine/kubelet-unit.ts';
import { createSystemClock } from '../../../src/host/clock.ts';
import { createSystemBus, type SystemBus } from '../../../src/host/dbus/bus.ts';
import { createKubeletUnit, type KubeletUnit } from '../../../src/host/kubelet/unit.ts';
import { Systemd } from '../../../src/host/systemd/manager.ts';
import { openTestState } from '../../support/agent/state.ts';
import { type ServiceManager, startManager } from '../../systemd/manager.ts';
import { SILENT_LOG } from '../../support/silent-log.ts';
import { waitFor } from '../../support/wait-for.ts';

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
const FIND_HOME = path.join(import.meta.dirname, '..', '..', 'systemd', 'find-kubelet-home.ts');
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

/** A client of the manager that ends with the test, and these units started, as soon as systemd is on its bus. */
async function startUnits(
  t: TestContext,
  { address }: ServiceManager,
  units: readonly string[],
): Promise<{ readonly bus: SystemBus; readonly systemd: Systemd }> {
  const lifetime = new AbortController();
  t.after(() => lifetime.abort());
  const bus = createSystemBus({ address, log: SILENT_LOG, clock: createSystemClock() }, lifetime.signal);
  const systemd = new Systemd(bus);
  for (const unit of units) {
    const starts = async (): Promise<boolean> =>
      await systemd.startUnit(unit, t.signal).then(
        () => true,
        () => false,
      );
    await waitFor(`${unit} is started`, starts);
  }
  return { bus, systemd };
}

async function createBench(t: TestContext): Promise<Bench> {
  const manager = await startManager(UNITS, t.signal);
  t.after(() => manager[Symbol.asyncDispose]());
  const { bus, systemd } = await startUnits(t, manager, Object.keys(UNITS));
  const read = async (name: string): Promise<string> => await readFile(path.join(manager.folder, name), 'utf8');
  const starts = async (): Promise<number> => (await read('starts').catch(() => '')).split('\n').length - 1;
  await waitFor('the kubelet runs', async () => (await starts()) === 1);
  return {
    manager,
    bus,
    systemd,
    kubelet: createKubeletUnit(systemd, {
      choose: () => Promise.resolve({ kind: 'unit', unit: 'kubelet.service' }),
      state: await openTestState(manager.folder),
      bootId: 'boot-1',
    }),
    starts,
    goDown: async () => {
      const start = { member: 'StartUnit', signature: 'ss', body: ['exit.target', 'replace-irreversibly'] };
      const manager1 = { destination: 'org.freedesktop.systemd1', path: '/org/freedesktop/systemd1' };
      await bus.call({ ...manager1, interface: 'org.freedesktop.systemd1.Manager', ...start }, t.signal);
      await waitFor("the agent's unit stops", async () => (await read('stopping').catch(() => '')) !== '');
    },
  };
}

/** A unit with a process that has the command line of a kubelet, and `beside` it another. */
function unitOf(kubeconfig: string, beside: string): string {
  const kubelet = `exec -a /usr/bin/kubelet ${process.execPath} -e 'setInterval(() => 0, 1e6)' -- --kubeconfig=${kubeconfig}`;
  return `[Service]\nExecStart=/bin/bash -c "(exec -a ${beside} sleep 1000) & ${kubelet}"\n`;
}

describe('the unit in which a kubelet runs', () => {
  it("the agent finds the unit by the kubelet's process, with the container runtime that lives in it", async (t) => {
    const units = {
      'k3s.service': unitOf('/k3s.conf', '/opt/k3s/bin/containerd'),
      'snap.kubelet.service': unitOf('/snap.conf', '/bin/kubectl'),
    };
    await using manager = await startManager(units, t.signal);
    await startUnits(t, manager, Object.keys(units));
    const find = async (kubeconfig: string): Promise<KubeletHome | undefined> => {
      const [program, ...args] = [...manager.enter(), process.execPath, FIND_HOME, manager.address, kubeconfig];
      const { stdout } = await promisify(execFile)(program, args, { signal: t.signal });
      return stdout === '' ? undefined : (JSON.parse(stdout) as KubeletHome);
    };
    await waitFor(
      'both run',
      async () => (await find('/k3s.conf')) !== undefined && (await find('/snap.conf')) !== undefined,
    );
    assert.deepEqual(await find('/k3s.conf'), { unit: 'k3s.service', runtime: 'containerd' });
    assert.deepEqual(await find('/snap.conf'), { unit: 'snap.kubelet.service' });
  });
});

describe("the kubelet's unit under a real systemd", () => {
  it('the agent stops the unit and starts it again while no other job is queued', async (t) => {
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

  it('the agent ends the unit, and the unit stays ended, while its stop waits for the stop of our own unit', async (t) => {
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
