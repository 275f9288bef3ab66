import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { describe, it } from 'node:test';
import { BOOT_ANNOTATION } from '../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import { type Program, startProgram } from '../../control-plane/process.ts';
import { startNode, type TestNode } from '../../node/node.ts';
import { daemonSet, deployment, staticPod } from '../../node/pods.ts';
import { installManifests, readAgentStatus, runNodemaint, startNodemaint } from '../../support/commands/nodemaint.ts';
import { makeTestFolder } from '../../support/folder.ts';
import { SLOW, waitFor } from '../../support/wait-for.ts';
import { keysOfNode, writeAgentFiles } from '../../support/agent/files.ts';

const NODE = `drain-${process.pid}`;
/** What the kubelet says of the Node as well. */
const KERNEL_BOOT_ID = '/proc/sys/kernel/random/boot_id';

interface Rig {
  readonly folder: string;
  readonly controlPlane: ControlPlane;
  readonly node: TestNode;
  readonly configFile: string;
  readonly runDirectory: string;
  readonly bootIdPath: string;
  readonly witness: string;
}

/** A control plane with the controller's rights, a node with one pod of each kind, and an agent's configuration. */
async function buildRig(stack: AsyncDisposableStack, stopSec: number, extra: object = {}): Promise<Rig> {
  const signal = AbortSignal.timeout(300_000);
  const folder = await makeTestFolder('drain');
  stack.defer(async () => {
    await rm(folder, { recursive: true, force: true });
  });
  const controlPlane = stack.use(await startControlPlane({}, signal));
  const controllerConfig = await installManifests(controlPlane);
  const node = stack.use(await startNode(controlPlane, NODE, signal));
  const witness = path.join(folder, 'witness');
  await mkdir(witness);
  await writeFile(path.join(witness, 'log'), '');
  for (const object of [deployment('web', { stopSec, witness }), daemonSet('logger', { stopSec, witness })]) {
    await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
  }
  const low = staticPod('low', { stopSec, witness });
  const high = staticPod('high', { stopSec, witness, priorityClassName: 'system-node-critical' });
  await writeFile(path.join(node.staticPodPath, 'low.yaml'), JSON.stringify(low));
  await writeFile(path.join(node.staticPodPath, 'high.yaml'), JSON.stringify(high, null, 1));
  await waitFor('all four pods run', async () => (await runningPods(controlPlane)).length === 4, SLOW);

  stack.use(startNodemaint(['controller', '--kubeconfig', controllerConfig], path.join(folder, 'controller.log')));
  const files = await writeAgentFiles(folder, { ...keysOfNode(node), ...extra });
  await writeFile(files.bootIdPath, await readFile(KERNEL_BOOT_ID));
  return { folder, controlPlane, node, ...files, witness };
}

async function runningPods(controlPlane: ControlPlane): Promise<readonly string[]> {
  const text = await controlPlane.kubectl(['get', 'pods', '-A', '-o', 'json']);
  const { items } = JSON.parse(text) as { items: { metadata: { name: string }; status: { phase: string } }[] };
  return items.filter(({ status }) => status.phase === 'Running').map(({ metadata }) => metadata.name);
}

async function startAgent(stack: AsyncDisposableStack, rig: Rig): Promise<Program> {
  const agent = stack.use(startNodemaint(['agent', '--config', rig.configFile], path.join(rig.folder, 'agent.log')));
  await waitFor('the agent answers', async () => (await readAgentStatus(rig.runDirectory)).node === NODE, {
    ...SLOW,
    program: agent,
  });
  return agent;
}

async function phaseIs(rig: Rig, kind: string): Promise<boolean> {
  return (await readAgentStatus(rig.runDirectory)).phase.kind === kind;
}

async function maintenances(controlPlane: ControlPlane): Promise<readonly NodeMaintenance[]> {
  const text = await controlPlane.kubectl(['get', 'nm', '-o', 'json']);
  return (JSON.parse(text) as { items: NodeMaintenance[] }).items;
}

/** Reboots without a machine: what runs on the node ends, and the boot id changes. */
async function reboot(rig: Rig, agent: Program): Promise<void> {
  await agent.stop();
  await writeFile(rig.bootIdPath, 'boot-2');
}

const ORDER = ['web', 'logger', 'low', 'high'];

async function assertOrder(rig: Rig): Promise<void> {
  const lines = (await readFile(path.join(rig.witness, 'log'), 'utf8')).trim().split('\n');
  assert.deepEqual(
    lines,
    ORDER.flatMap((name) => [`${name} TERM`, `${name} END`]),
  );
}

async function assertRestored(rig: Rig, before: Readonly<Record<string, string>>): Promise<void> {
  const { controlPlane, node } = rig;
  await waitFor(
    'the maintenance is completed',
    async () => {
      const [maintenance] = await maintenances(controlPlane);
      const stages = maintenance?.status?.stageStatuses?.map(({ name }) => name).join(' ');
      return maintenance?.spec.stage === 'Complete' && stages === 'Drain Complete';
    },
    SLOW,
  );
  await waitFor('all pods run again', async () => (await runningPods(controlPlane)).length === 4, SLOW);
  const spec = await controlPlane.kubectl(['get', 'node', NODE, '-o', 'jsonpath={.spec.unschedulable}']);
  assert.equal(spec, '', 'the node is uncordoned');
  assert.deepEqual(await manifestsOf(node), before, 'the manifests are back, byte for byte');
}

async function manifestsOf(node: TestNode): Promise<Record<string, string>> {
  const names = await readdir(node.staticPodPath);
  const pairs = names.map(async (name) => [name, await readFile(path.join(node.staticPodPath, name), 'utf8')] as const);
  return Object.fromEntries(await Promise.all(pairs));
}

describe('a node that is told to shut down, on a real control plane with a real kubelet', () => {
  it('the node drains in order, keeps static pods out, and gets everything back after the boot', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = await buildRig(stack, 2);
    const before = await manifestsOf(rig.node);
    const watchLog = path.join(rig.folder, 'watch.log');
    const { kubectl } = rig.controlPlane.binaries;
    const watching = ['--kubeconfig', rig.controlPlane.adminKubeconfig, 'get', 'nm,evreq', '-A', '-w'];
    for (const resource of ['nm', 'evreq']) {
      stack.use(startProgram([kubectl, ...watching.slice(0, 3), resource, '-A', '-w'], watchLog));
    }
    const agent = await startAgent(stack, rig);
    const { code } = await runNodemaint(['trigger', '--reason', 'kernel update', '--run-directory', rig.runDirectory]);
    assert.equal(code, 0);
    await waitFor('the agent releases the machine', () => phaseIs(rig, 'released'), { ...SLOW, program: agent });
    await assertOrder(rig);
    const [maintenance] = await maintenances(rig.controlPlane);
    assert.equal(maintenance?.spec.reason, 'kernel update');
    const bootId = (await readFile(KERNEL_BOOT_ID, 'utf8')).trim();
    assert.equal(maintenance.metadata.annotations?.[BOOT_ANNOTATION], bootId, 'it ends with this boot');
    const status = await runNodemaint(['status', '--run-directory', rig.runDirectory]);
    assert.match(status.stdout, /released/);
    assert.deepEqual(await manifestsOf(rig.node), {});
    console.log(await readFile(watchLog, 'utf8'));
    await reboot(rig, agent);
    await startAgent(stack, rig);
    await assertRestored(rig, before);
  });

  it('the drain keeps the order and every manifest when the agent is killed in mid-drain', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = await buildRig(stack, 3);
    const before = await manifestsOf(rig.node);
    let agent = await startAgent(stack, rig);
    await runNodemaint(['trigger', '--reason', 'kernel update', '--run-directory', rig.runDirectory]);
    for (const line of ['web TERM', 'low TERM']) {
      await waitFor(
        `${line} is seen`,
        async () => (await readFile(path.join(rig.witness, 'log'), 'utf8')).includes(line),
        { ...SLOW, program: agent },
      );
      agent.kill('SIGKILL');
      await waitFor('the agent is dead', () => agent.exited(), SLOW);
      agent = await startAgent(stack, rig);
    }
    await waitFor('the agent releases the machine', () => phaseIs(rig, 'released'), { ...SLOW, program: agent });
    await assertOrder(rig);
    await reboot(rig, agent);
    await startAgent(stack, rig);
    await assertRestored(rig, before);
  });

  it('the node drains its static pods offline when the API server is away, and hands over when it returns', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = await buildRig(stack, 2);
    const before = await manifestsOf(rig.node);
    const agent = await startAgent(stack, rig);
    await rig.controlPlane.stopApiServer();
    await runNodemaint(['trigger', '--reason', 'kernel update', '--run-directory', rig.runDirectory]);
    await waitFor('the agent releases the machine', () => phaseIs(rig, 'released'), { ...SLOW, program: agent });
    const lines = (await readFile(path.join(rig.witness, 'log'), 'utf8')).trim().split('\n');
    assert.deepEqual(lines, ['low TERM', 'low END', 'high TERM', 'high END']);
    assert.deepEqual(await manifestsOf(rig.node), {});
    await reboot(rig, agent);
    // No API server yet: the manifests come back by local facts alone.
    await startAgent(stack, rig);
    await waitFor('the agent watches again', () => phaseIs(rig, 'watching'), SLOW);
    assert.deepEqual(await manifestsOf(rig.node), before);
    await rig.controlPlane.startApiServer();
    await waitFor('all pods run again', async () => (await runningPods(rig.controlPlane)).length === 4, SLOW);
    assert.deepEqual(await maintenances(rig.controlPlane), []);
  });

  it('the node keeps static pods out after the boot until a person completes the maintenance, where that is the policy', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = await buildRig(stack, 1, { onBoot: 'wait' });
    const before = await manifestsOf(rig.node);
    const agent = await startAgent(stack, rig);
    await runNodemaint(['trigger', '--reason', 'disk replacement', '--run-directory', rig.runDirectory]);
    await waitFor('the agent releases the machine', () => phaseIs(rig, 'released'), { ...SLOW, program: agent });
    await reboot(rig, agent);
    await startAgent(stack, rig);
    const [maintenance] = await maintenances(rig.controlPlane);
    assert.equal(maintenance?.metadata.annotations?.[BOOT_ANNOTATION], undefined, 'it goes on after the boot');
    await rig.node.restartKubelet();
    assert.equal(await phaseIs(rig, 'recovering'), true);
    assert.deepEqual(await manifestsOf(rig.node), {});
    const complete = [
      'patch',
      'nm',
      maintenance?.metadata.name ?? '',
      '--type=merge',
      '-p',
      '{"spec":{"stage":"Complete"}}',
    ];
    await rig.controlPlane.kubectl(complete);
    await assertRestored(rig, before);
  });

  it('the node drains for a person too, and stays cordoned if it was so before', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = await buildRig(stack, 1);
    const { controlPlane, node } = rig;
    const before = await manifestsOf(node);
    await startAgent(stack, rig);
    await controlPlane.kubectl(['cordon', NODE]);
    const byName = { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [NODE] }] };
    const object = {
      apiVersion: 'nodemaintenance.x-k8s.io/v1alpha1',
      kind: 'NodeMaintenance',
      metadata: { name: 'firmware' },
      spec: { stage: 'Drain', reason: 'firmware', nodeSelector: { nodeSelectorTerms: [byName] } },
    };
    await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
    await controlPlane.kubectl(['wait', '--for=condition=Drained', 'nm/firmware', '--timeout=90s']);
    await assertOrder(rig);
    assert.equal((await readAgentStatus(rig.runDirectory)).phase.kind, 'watching');
    const edited = `${before['low.yaml'] ?? ''}\n`;
    await writeFile(path.join(node.staticPodPath, 'low.yaml'), edited);
    await waitFor(
      'what somebody wrote is parked too',
      async () => Object.keys(await manifestsOf(node)).length === 0,
      SLOW,
    );
    await controlPlane.kubectl(['delete', 'nm', 'firmware', '--timeout=60s']);
    const bothRun = async (): Promise<boolean> =>
      (await runningPods(controlPlane)).filter((name) => name.endsWith(NODE)).length === 2;
    // The kubelet may have started the new pod before its manifest was parked: its end comes first.
    await waitFor('both manifests are back', async () => Object.keys(await manifestsOf(node)).length === 2, SLOW);
    assert.deepEqual(await manifestsOf(node), { ...before, 'low.yaml': edited });
    await waitFor('the static pods run again', bothRun, SLOW);
    const cordoned = await controlPlane.kubectl(['get', 'node', NODE, '-o', 'jsonpath={.spec.unschedulable}']);
    assert.equal(cordoned, 'true');
    assert.equal(await controlPlane.kubectl(['get', 'evreq', '-A', '-o', 'name']), '');
  });
});
