/**
 * A machine that is a whole cluster: etcd, kube-apiserver, controller manager and scheduler are its static pods, the
 * kubeconfig of its agent points at itself, and the controller of node maintenance is one of the pods that leave.
 * The gate leaves it out, for it takes ten minutes in software; NODEMAINT_E2E_REBOOTS is how often it reboots; once unless told.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from '../control-plane/port.ts';
import { TEST_IMAGE } from '../node/images.ts';
import { deployment, staticPod } from '../node/pods.ts';
import { makeTestFolder } from '../support/folder.ts';
import { isThorough } from '../support/thorough.ts';
import { machineImage } from './machine/image.ts';
import { installAgent } from './machine/install.ts';
import { bootMachine, type Machine } from './machine/machine.ts';
import { becomeControlPlane, PORT, type SoleControlPlane } from './machine/sole-control-plane.ts';
import { startWitness, WITNESS, witnessedIn } from './machine/witness.ts';
import { waitFor } from '../support/wait-for.ts';

const ROOT = path.join(import.meta.dirname, '..', '..');
const NODE = 'node-a';
const REBOOTS = Number(process.env['NODEMAINT_E2E_REBOOTS'] ?? '1');
/** Everything that is to run: the control plane, a static pod, a Deployment, and both replicas of the controller. */
const PODS = 8;
/** A whole control plane, and two controllers beside it. */
const MEMORY_MIB = 4096;
const ASK_EVERY_MS = 5_000;
const SETTLE_MS = 600_000;
const MANIFESTS = 'cd /etc/kubernetes/manifests && sha256sum *';

const say = (text: string): void => {
  console.log(`${new Date().toISOString()} ${text}`);
};

/** Asks now and then: a machine in software has little time for answers. */
async function until(what: string, ask: () => Promise<boolean>, timeoutMs: number): Promise<void> {
  const signal = AbortSignal.timeout(timeoutMs + ASK_EVERY_MS);
  const asked = async (): Promise<boolean> => {
    const yes = await ask().catch(() => false);
    if (!yes) await setTimeout(ASK_EVERY_MS, undefined, { signal });
    return yes;
  };
  await waitFor(what, asked, { timeoutMs, signal });
}

async function installController(machine: Machine, cluster: SoleControlPlane): Promise<void> {
  const run = promisify(execFile);
  await run(process.execPath, [path.join(ROOT, '.ci', 'bundle.ts')], { cwd: ROOT });
  await run(process.execPath, [path.join(ROOT, '.ci', 'image.ts')], { cwd: ROOT });
  await machine.copy({ '/root/nodemaint-image.tar': path.join(ROOT, 'dist', 'nodemaint-image.tar') });
  await machine.must('ctr -n k8s.io images import /root/nodemaint-image.tar', { timeoutMs: SETTLE_MS });
  // The second time for what the first found no kind for yet.
  await until(
    'the manifests are applied',
    () => cluster.kubectl(['apply', '-k', path.join(ROOT, 'manifests')]).then(() => true),
    SETTLE_MS,
  );
}

async function isRunning(cluster: SoleControlPlane): Promise<boolean> {
  const { items } = JSON.parse(await cluster.kubectl(['get', 'pods', '-A', '-o', 'json'])) as {
    items: { status: { phase: string; containerStatuses?: { ready: boolean }[] } }[];
  };
  const ready = items.filter(
    ({ status }) => status.phase === 'Running' && status.containerStatuses?.[0]?.ready === true,
  );
  return items.length === PODS && ready.length === PODS;
}

async function allRun(cluster: SoleControlPlane): Promise<void> {
  await until('all pods run', () => isRunning(cluster), SETTLE_MS).catch(async (error: unknown) => {
    say(await cluster.kubectl(['get', 'pods,nm,evreq', '-A', '-o', 'wide']).catch(String));
    throw error;
  });
}

/** What the journal of the boot before this one tells of the shutdown, in order. */
async function journalOfShutdown(machine: Machine): Promise<readonly string[]> {
  const names = ['node', 'witness', 'systemd', 'systemd-logind'].map((name) => `-t ${name}`).join(' ');
  const read = `journalctl -b -1 -o short-iso-precise --no-pager ${names}`;
  const text = await machine.must(read, { timeoutMs: 300_000 });
  const told =
    /witness\[|parked manifest|System is rebooting|systemd\[1\]: (Reached target .*shutdown|Stopping kubelet)|released|draining/;
  return text.split('\n').filter((line) => told.test(line));
}

function assertShutdown(journal: readonly string[]): void {
  assert.deepEqual(witnessedIn(journal), ['web TERM', 'web END', 'low TERM', 'low END']);
  const parked = journal.flatMap(
    (line) => /"manifest":"([\w-]+)\.(?:yaml|json)".*parked manifest/.exec(line)?.[1] ?? [],
  );
  assert.deepEqual(parked.slice(0, 1), ['low'], 'the static pod of low priority first');
  assert.deepEqual(parked.slice(-2), ['kube-apiserver', 'etcd'], 'kube-apiserver and etcd last');
  const lastEnd = journal.findIndex((line) => line.endsWith(': low END'));
  const down = journal.findIndex((line) => /System is rebooting|Reached target .*shutdown|Stopping kubelet/.test(line));
  assert.ok(down > lastEnd, 'the machine goes down only after the last pod');
}

describe('a machine that is the only control plane of its cluster', () => {
  const isWanted = isThorough('a machine that is the only control plane of its cluster reboots');
  if (isWanted)
    it(`the machine reboots by systemctl reboot and comes back by itself, ${REBOOTS} times in a row`, async () => {
      const signal = AbortSignal.timeout(2_300_000 + REBOOTS * SETTLE_MS);
      await using stack = new AsyncDisposableStack();
      const folder = await makeTestFolder('sole');
      stack.defer(() => rm(folder, { recursive: true, force: true }));
      const port = await freePort();
      const equipment = { memoryMib: MEMORY_MIB, ports: new Map([[port, PORT]]) };
      const machine = stack.use(await bootMachine(await machineImage(signal), equipment, signal));
      say('machine up');
      const cluster = await becomeControlPlane(machine, NODE, { port, folder }, signal);
      const isReady = async (): Promise<boolean> =>
        (await cluster.kubectl(['get', 'node', NODE, '--no-headers'])).includes(' Ready ');
      await until('the node is ready', isReady, SETTLE_MS);
      await cluster.kubectl(['label', 'node', NODE, 'node-role.kubernetes.io/control-plane=']);
      say('cluster up');
      await installController(machine, cluster);
      await startWitness(machine);
      await cluster.kubectl(['apply', '-f', '-'], JSON.stringify(deployment('web', { stopSec: 2, witness: WITNESS })));
      await machine.must('cat > /root/low && mv /root/low /etc/kubernetes/manifests/low.yaml', {
        input: JSON.stringify(staticPod('low', { stopSec: 2, witness: WITNESS })),
      });
      await allRun(cluster);
      say('all pods run');
      await installAgent(machine);
      say('agent installed');
      const manifests = await machine.must(MANIFESTS);
      say(`${await machine.must('nodemaint status')}\n${manifests}image ${TEST_IMAGE}`);

      for (let count = 1; count <= REBOOTS; count += 1) {
        const before = await machine.bootId();
        const began = Date.now();
        await machine.must('systemctl reboot', { timeoutMs: SETTLE_MS });
        await machine.waitForReboot(before, SETTLE_MS);
        const back = Date.now();
        const journal = await journalOfShutdown(machine);
        console.log(journal.join('\n'));
        assertShutdown(journal);
        const completed = async (): Promise<boolean> => {
          const stages = await cluster.kubectl(['get', 'nm', '-o', 'jsonpath={.items[*].spec.stage}']);
          return stages !== '' && stages.split(' ').every((stage) => stage === 'Complete');
        };
        await until('the maintenance is completed', completed, SETTLE_MS);
        await allRun(cluster);
        assert.equal(await machine.must(MANIFESTS, { timeoutMs: SETTLE_MS }), manifests);
        const uncordoned = async (): Promise<boolean> =>
          (await cluster.kubectl(['get', 'node', NODE, '-o', 'jsonpath={.spec.unschedulable}'])) === '';
        await until('the node is uncordoned', uncordoned, SETTLE_MS);
        const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`;
        say(
          `reboot ${count}: shell back after ${seconds(back - began)}, all in order after ${seconds(Date.now() - began)}`,
        );
      }
    });
});
