/**
 * A machine that is a whole cluster, with the product as shipped: etcd, kube-apiserver, controller manager and scheduler are its
 * static pods, the kubeconfig of its agent points at itself, and the controller of node maintenance is one of the pods that leave.
 * The cluster judges itself after a reboot or a power cut.
 */
import assert from 'node:assert/strict';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { deployment, staticPod } from '../../node/pods.ts';
import { waitFor } from '../../support/wait-for.ts';
import { installAgent } from './install.ts';
import type { Machine } from './machine.ts';
import { becomeControlPlane, type HostAccess, type SoleControlPlane } from './sole-control-plane.ts';
import { startWitness, WITNESS, witnessedIn } from './witness.ts';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');
const NODE = 'node-a';
/** Everything that is to run: the control plane, a static pod, a Deployment, and both replicas of the controller. */
const PODS = 8;
const ASK_EVERY_MS = 5_000;
export const SETTLE_MS = 1_200_000;
const MANIFESTS = 'cd /etc/kubernetes/manifests && sha256sum *';
const PARKED = 'cd /etc/kubernetes && test ! -d nodemaint-parked || find nodemaint-parked -type f';

/** A whole control plane, and two controllers beside it. */
export const MEMORY_MIB = 4096;

/** What one reboot took, and the lines of the journal that tell of its shutdown. */
export interface Reboot {
  readonly journal: readonly string[];
  /** Until the shell was back, and until everything ran again, in seconds. */
  readonly shellSec: number;
  readonly orderSec: number;
}

export interface SoleCluster extends SoleControlPlane {
  readonly machine: Machine;
  /** The checksums of the manifests, as they are to be after each boot. */
  readonly manifests: string;
}

/** Asks now and then: a machine in software has little time for answers. */
async function until(what: string, ask: () => Promise<boolean>): Promise<void> {
  const signal = AbortSignal.timeout(SETTLE_MS + ASK_EVERY_MS);
  const asked = async (): Promise<boolean> => {
    const yes = await ask().catch(() => false);
    if (!yes) await setTimeout(ASK_EVERY_MS, undefined, { signal });
    return yes;
  };
  await waitFor(what, asked, { timeoutMs: SETTLE_MS, signal });
}

async function installController(machine: Machine, { kubectl }: SoleControlPlane): Promise<void> {
  await machine.copy({ '/root/nodemaint-image.tar': path.join(ROOT, 'dist', 'nodemaint-image.tar') });
  await machine.must('ctr -n k8s.io images import /root/nodemaint-image.tar', { timeoutMs: SETTLE_MS });
  // The second time for what the first found no kind for yet.
  await until('the manifests are applied', () =>
    kubectl(['apply', '-k', path.join(ROOT, 'manifests')]).then(() => true),
  );
}

async function allRun({ kubectl }: SoleControlPlane): Promise<void> {
  const isRunning = async (): Promise<boolean> => {
    const { items } = JSON.parse(await kubectl(['get', 'pods', '-A', '-o', 'json'])) as {
      items: { status: { phase: string; containerStatuses?: { ready: boolean }[] } }[];
    };
    const ready = items.filter(
      ({ status }) => status.phase === 'Running' && status.containerStatuses?.[0]?.ready === true,
    );
    return items.length === PODS && ready.length === PODS;
  };
  await until('all pods run', isRunning).catch(async (error: unknown) => {
    console.log(await kubectl(['get', 'pods,nm,evreq', '-A', '-o', 'wide']).catch(String));
    throw error;
  });
}

/** Makes the machine such a cluster, which takes a quarter of an hour in software; `say` is told how far it is. */
export async function makeSoleCluster(
  machine: Machine,
  access: HostAccess,
  say: (text: string) => void,
  signal: AbortSignal,
): Promise<SoleCluster> {
  const cluster = await becomeControlPlane(machine, NODE, access, signal);
  const { kubectl } = cluster;
  await until('the node is ready', async () =>
    (await kubectl(['get', 'node', NODE, '--no-headers'])).includes(' Ready '),
  );
  await kubectl(['label', 'node', NODE, 'node-role.kubernetes.io/control-plane=']);
  say('cluster up');
  await installController(machine, cluster);
  await startWitness(machine);
  await kubectl(['apply', '-f', '-'], JSON.stringify(deployment('web', { stopSec: 2, witness: WITNESS })));
  await machine.must('cat > /root/low && mv /root/low /etc/kubernetes/manifests/low.yaml', {
    input: JSON.stringify(staticPod('low', { stopSec: 2, witness: WITNESS })),
  });
  await allRun(cluster);
  say('all pods run');
  await installAgent(machine);
  say(`agent installed\n${await machine.must('nodemaint status')}`);
  return { ...cluster, machine, manifests: await machine.must(MANIFESTS) };
}

/** Waits until everything is as before the machine went down; throws an AssertionError where a manifest is not. */
async function assertInOrder(cluster: SoleCluster): Promise<void> {
  const { machine, kubectl, manifests } = cluster;
  await until('each maintenance is completed', async () => {
    const stages = await kubectl(['get', 'nm', '-o', 'jsonpath={.items[*].spec.stage}']);
    return stages.split(' ').every((stage) => stage === 'Complete' || stage === '');
  });
  await allRun(cluster);
  assert.equal(await machine.must(MANIFESTS, { timeoutMs: SETTLE_MS }), manifests);
  assert.equal((await machine.must(PARKED, { timeoutMs: SETTLE_MS })).trim(), '', 'no manifest is parked');
  await until('the node is uncordoned', async () => {
    return (await kubectl(['get', 'node', NODE, '-o', 'jsonpath={.spec.unschedulable}'])) === '';
  });
}

/** What the journal of the boot before this one tells of the shutdown, in order. */
async function journalOfShutdown(machine: Machine): Promise<readonly string[]> {
  const names = ['node', 'witness', 'systemd', 'systemd-logind'].map((name) => `-t ${name}`).join(' ');
  const read = `journalctl -b -1 -o short-iso-precise --no-pager ${names}`;
  const text = await machine.must(read, { timeoutMs: SETTLE_MS });
  const told =
    /witness\[|parked manifest|System is rebooting|systemd\[1\]: (Reached target .*shutdown|Stopping kubelet)|released|draining/;
  return text.split('\n').filter((line) => told.test(line));
}

function assertShutdown(journal: readonly string[]): void {
  assert.deepEqual(witnessedIn(journal), ['web TERM', 'web END', 'low TERM', 'low END']);
  const parked = journal.flatMap((line) => /parked manifest.* manifest=([\w-]+)\.(?:yaml|json)/.exec(line)?.[1] ?? []);
  assert.deepEqual(parked.slice(0, 1), ['low'], 'the static pod of low priority first');
  assert.deepEqual(parked.slice(-2), ['kube-apiserver', 'etcd'], 'kube-apiserver and etcd last');
  const lastEnd = journal.findIndex((line) => line.endsWith(': low END'));
  // Not the end of the kubelet: an agent that drains alone stops it.
  const down = journal.findIndex((line) => /System is rebooting|Reached target .*shutdown/.test(line));
  assert.ok(down > lastEnd, 'the machine goes down only after the last pod');
}

const secondsSince = (began: number): number => Math.round((performance.now() - began) / 1000);

/** Reboots the machine with `systemctl reboot`; throws where it does not go down in order, or does not come back so. */
export async function rebootInOrder(cluster: SoleCluster): Promise<Reboot> {
  const { machine } = cluster;
  const before = await machine.bootId();
  const began = performance.now();
  await machine.must('systemctl reboot', { timeoutMs: SETTLE_MS });
  await machine.waitForReboot(before, SETTLE_MS);
  const shellSec = secondsSince(began);
  const journal = await journalOfShutdown(machine);
  assertShutdown(journal);
  await assertInOrder(cluster);
  return { journal, shellSec, orderSec: secondsSince(began) };
}

/** Cuts the power some seconds after `systemctl reboot`; throws where the machine is not in order after the next boot. */
export async function cutPower(cluster: SoleCluster, afterSec: number): Promise<number> {
  const { machine } = cluster;
  const began = performance.now();
  await machine.must('systemctl reboot --no-block', { timeoutMs: SETTLE_MS });
  await setTimeout(afterSec * 1000);
  await machine.powerCut();
  await machine.boot();
  await assertInOrder(cluster);
  return secondsSince(began);
}
