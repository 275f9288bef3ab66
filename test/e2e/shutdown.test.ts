import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import type { NodeMaintenance } from '../../src/api/node-maintenance.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { waitUntil } from '../control-plane/process.ts';
import { daemonSet, deployment, staticPod } from '../node/pods.ts';
import { installManifests, startNodemaint } from '../support/nodemaint.ts';
import { machineImage } from './machine/image.ts';
import { installAgent } from './machine/install.ts';
import { API_ADDRESS, API_PORT, joinNode } from './machine/kube-node.ts';
import { bootMachine, type Machine } from './machine/machine.ts';
import { startWitness, WITNESS } from './machine/witness.ts';

const NODE = 'node-a';
const ORDER = ['web', 'logger', 'low', 'high'];
const REBOOT_MS = 300_000;

interface Rig {
  readonly controlPlane: ControlPlane;
  readonly machine: Machine;
}

const say = (text: string): void => {
  console.log(`${new Date().toISOString()} ${text}`);
};

async function runningPods(controlPlane: ControlPlane): Promise<readonly string[]> {
  const { items } = JSON.parse(await controlPlane.kubectl(['get', 'pods', '-A', '-o', 'json'])) as {
    items: { metadata: { name: string }; status: { phase: string; containerStatuses?: { ready: boolean }[] } }[];
  };
  const running = items.filter(
    ({ status }) => status.phase === 'Running' && status.containerStatuses?.[0]?.ready === true,
  );
  return running.map(({ metadata }) => metadata.name);
}

async function maintenance(controlPlane: ControlPlane): Promise<NodeMaintenance | undefined> {
  const text = await controlPlane.kubectl(['get', 'nm', '-o', 'json']);
  return (JSON.parse(text) as { items: NodeMaintenance[] }).items[0];
}

async function writeStaticPods(machine: Machine): Promise<string> {
  const low = staticPod('low', { stopSec: 4, witness: WITNESS });
  const high = staticPod('high', { stopSec: 4, witness: WITNESS, priorityClassName: 'system-node-critical' });
  for (const [name, pod] of Object.entries({ low, high })) {
    await machine.must(`cat > /root/${name} && mv /root/${name} /etc/kubernetes/manifests/${name}.yaml`, {
      input: JSON.stringify(pod, null, 1),
    });
  }
  return await machine.must('cd /etc/kubernetes/manifests && sha256sum *');
}

async function buildRig(stack: AsyncDisposableStack): Promise<Rig> {
  const signal = AbortSignal.timeout(1_500_000);
  const folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-e2e-'));
  stack.defer(async () => {
    await rm(folder, { recursive: true, force: true });
  });
  const image = await machineImage(signal);
  const controlPlane = stack.use(await startControlPlane({ extraSans: [API_ADDRESS] }, signal));
  const controllerConfig = await installManifests(controlPlane);
  say('control plane up');
  const forward = { guest: `${API_ADDRESS}:${API_PORT}`, hostPort: controlPlane.port };
  const machine = stack.use(await bootMachine(image, [forward], signal));
  say('machine up');
  await joinNode(machine, controlPlane, NODE);
  say('node ready');
  await startWitness(machine);
  for (const object of [
    deployment('web', { stopSec: 4, witness: WITNESS }),
    daemonSet('logger', { stopSec: 4, witness: WITNESS }),
  ]) {
    await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
  }
  stack.use(startNodemaint(['controller', '--kubeconfig', controllerConfig], path.join(folder, 'controller.log')));
  return { controlPlane, machine };
}

async function allRunning(controlPlane: ControlPlane): Promise<void> {
  const four = async (): Promise<boolean> => (await runningPods(controlPlane)).length === 4;
  await waitUntil('all four pods run', four, { timeoutMs: 240_000 }, AbortSignal.timeout(241_000)).catch(
    async (error: unknown) => {
      say(await controlPlane.kubectl(['get', 'pods', '-A', '-o', 'wide']));
      throw error;
    },
  );
}

/** What the journal of the boot before this one says, in order: who ended when, and when the machine went down. */
async function journalOfShutdown(machine: Machine): Promise<readonly string[]> {
  const text = await machine.must('journalctl -b -1 -o short-iso-precise --no-pager', { timeoutMs: 120_000 });
  const told = /witness\[|nodemaint|System is rebooting|systemd\[1\]: (Reached target .*shutdown|Stopping kubelet)/;
  return text.split('\n').filter((line) => told.test(line));
}

function assertOrder(journal: readonly string[]): void {
  const witnessed = journal.flatMap((line) => /witness\[\d+\]: (\w+ (?:TERM|END))$/.exec(line)?.[1] ?? []);
  assert.deepEqual(
    witnessed,
    ORDER.flatMap((name) => [`${name} TERM`, `${name} END`]),
  );
  const lastEnd = journal.findIndex((line) => line.endsWith(': high END'));
  const down = journal.findIndex((line) => /System is rebooting|Reached target .*shutdown|Stopping kubelet/.test(line));
  assert.ok(down > lastEnd, 'the machine goes down only after the last pod');
}

async function assertBack({ controlPlane, machine }: Rig, manifests: string): Promise<void> {
  const completed = async (): Promise<boolean> => {
    const found = await maintenance(controlPlane);
    return (
      found?.spec.stage === 'Complete' && found.status?.stageStatuses?.some(({ name }) => name === 'Complete') === true
    );
  };
  await waitUntil('the maintenance is completed', completed, { timeoutMs: 180_000 }, AbortSignal.timeout(181_000));
  await allRunning(controlPlane);
  assert.equal(await machine.must('cd /etc/kubernetes/manifests && sha256sum *'), manifests);
  const cordoned = await controlPlane.kubectl(['get', 'node', NODE, '-o', 'jsonpath={.spec.unschedulable}']);
  assert.equal(cordoned, '');
}

/** Tells the machine to reboot, lets `meanwhile` happen, and follows it to the other side. */
async function reboot(rig: Rig, meanwhile: () => Promise<void>): Promise<readonly string[]> {
  const { machine } = rig;
  const before = await machine.bootId();
  say('systemctl reboot');
  await machine.must('systemctl reboot');
  await meanwhile();
  await machine.waitForReboot(before, REBOOT_MS);
  say('machine is back');
  const journal = await journalOfShutdown(machine);
  console.log(journal.join('\n'));
  return journal;
}

async function witnessed(machine: Machine, line: string): Promise<void> {
  const seen = async (): Promise<boolean> => (await machine.must(`cat ${WITNESS}/log`)).includes(line);
  await waitUntil(`${line} is seen`, seen, { timeoutMs: 120_000 }, AbortSignal.timeout(121_000));
}

describe('systemctl reboot on a real machine with a real kubelet', () => {
  it('waits for Default, DaemonSet, low static and high static pods, and brings everything back', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = await buildRig(stack);
    const { controlPlane, machine } = rig;
    const manifests = await writeStaticPods(machine);
    await installAgent(machine);
    await allRunning(controlPlane);
    say(
      await machine.must(
        'nodemaint status; systemd-inhibit --list --no-pager; systemctl status nodemaint --no-pager | head -12',
      ),
    );

    const journal = await reboot(rig, async () => {
      await witnessed(machine, 'web TERM');
      say(await machine.must('nodemaint status'));
      say(await controlPlane.kubectl(['get', 'nm,evreq', '-A']));
    });
    assertOrder(journal);
    await assertBack(rig, manifests);
    say(await controlPlane.kubectl(['get', 'nm', '-o', 'wide']));

    say(
      await machine.must(
        'nodemaint status; /root/nodemaint/install.sh uninstall --purge; ls -A /etc/kubernetes/manifests',
      ),
    );
    assert.equal((await machine.ssh('systemctl cat nodemaint.service')).code, 1);
  });
});
