import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { describe, it } from 'node:test';
import { DRAINED, type NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import { type ContainerRuntime, createContainerRuntime } from '../../../src/host/cri/runtime.ts';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import { type Program } from '../../control-plane/process.ts';
import { type Logind, startLogind } from '../../logind/rig.ts';
import { startNode, type TestNode } from '../../node/node.ts';
import { daemonSet, type PodShape, podSpec, staticPod } from '../../node/pods.ts';
import { installManifests, readAgentStatus, runNodemaint, startNodemaint } from '../../support/commands/nodemaint.ts';
import { makeTestFolder } from '../../support/folder.ts';
import { startFalseLeader } from '../../support/stand-ins/false-leader.ts';
import { type SocketProxy, startSocketProxy } from '../../support/stand-ins/socket-proxy.ts';
import { SLOW, waitFor } from '../../support/wait-for.ts';
import { isThorough } from '../../support/thorough.ts';
import { keysOfNode, writeAgentFiles } from '../../support/agent/files.ts';

const NODE = `local-drain-${process.pid}`;
/** Low to high by what only the API server tells of the pods, DaemonSets after all others, static pods last. */
const ORDER = ['web', 'vip', 'logger', 'low', 'high'];

interface Rig {
  readonly folder: string;
  readonly controlPlane: ControlPlane;
  readonly node: TestNode;
  readonly runtime: ContainerRuntime;
  /** Between the agent and containerd; the kubelet and this test reach it without. */
  readonly proxy: SocketProxy;
  readonly logind: Logind;
  readonly configFile: string;
  readonly runDirectory: string;
  readonly bootIdPath: string;
  readonly witness: string;
}

async function runningPods(controlPlane: ControlPlane): Promise<number> {
  const text = await controlPlane.kubectl(['get', 'pods', '-A', '-o', 'json']);
  const { items } = JSON.parse(text) as { items: { status: { phase: string } }[] };
  return items.filter(({ status }) => status.phase === 'Running').length;
}

/** A pod of its own: a scheduler that was cut off as well may put a replacement on the node before it sees the cordon. */
function barePod(name: string, shape: PodShape): object {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' }, spec: podSpec(name, shape) };
}

/** A node with five pods on a control plane without a controller, and a logind beside which systemd has its kubelet. */
async function buildRig(stack: AsyncDisposableStack, loggerSec: number): Promise<Rig> {
  const signal = AbortSignal.timeout(270_000);
  const folder = await makeTestFolder('local-drain');
  stack.defer(async () => {
    await rm(folder, { recursive: true, force: true });
  });
  const controlPlane = stack.use(await startControlPlane({}, signal));
  await installManifests(controlPlane);
  const node = stack.use(await startNode(controlPlane, NODE, signal));
  const witness = path.join(folder, 'witness');
  await mkdir(witness);
  await writeFile(path.join(witness, 'log'), '');
  const shape = { stopSec: 2, witness };
  const web = barePod('web', { ...shape, stopSec: 4 });
  const vip = barePod('vip', { stopSec: 3, witness, priorityClassName: 'system-cluster-critical' });
  for (const object of [web, vip, daemonSet('logger', { ...shape, stopSec: loggerSec, graceSec: 60 })]) {
    await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
  }
  const high = staticPod('high', { ...shape, priorityClassName: 'system-node-critical' });
  await writeFile(path.join(node.staticPodPath, 'low.yaml'), JSON.stringify(staticPod('low', shape)));
  await writeFile(path.join(node.staticPodPath, 'high.yaml'), JSON.stringify(high));
  await waitFor('all pods run', async () => (await runningPods(controlPlane)) === ORDER.length, SLOW);

  const logind = stack.use(await startLogind({ inhibitDelayMaxSec: 120 }, signal));
  const kubelet = { active: true, start: () => node.startKubelet({ untilReady: false }), stop: node.stopKubelet };
  logind.standIn.units.set('kubelet.service', kubelet);
  const runtime = createContainerRuntime(node.runtimeEndpoint);
  stack.defer(() => {
    runtime.close();
  });
  const proxySocket = path.join(folder, 'proxy.sock');
  const proxy = stack.use(await startSocketProxy(proxySocket, node.criSocket));
  const files = await writeAgentFiles(folder, {
    ...keysOfNode(node),
    containerRuntimeEndpoint: `unix://${proxySocket}`,
    lock: 'child',
    apiWaitSec: 3,
    kubeletUnit: 'kubelet.service',
  });
  return { folder, controlPlane, node, runtime, proxy, logind, ...files, witness };
}

async function startAgent(stack: AsyncDisposableStack, rig: Rig): Promise<Program> {
  const environment = { DBUS_SYSTEM_BUS_ADDRESS: rig.logind.address };
  const log = path.join(rig.folder, 'agent.log');
  const agent = stack.use(startNodemaint(['agent', '--config', rig.configFile], log, environment));
  const isHeld = async (): Promise<boolean> => (await readAgentStatus(rig.runDirectory)).lock.held;
  await waitFor('the agent holds its lock', isHeld, { ...SLOW, program: agent });
  const known = path.join(rig.folder, 'state', 'pods.json');
  const knowsPods = async (): Promise<boolean> => {
    const { pods } = JSON.parse(await readFile(known, 'utf8')) as { pods: unknown[] };
    return pods.length === ORDER.length;
  };
  await waitFor('the agent has noted the priorities of the pods', knowsPods, { ...SLOW, program: agent });
  return agent;
}

async function phaseIs(rig: Rig, kind: string, mode: string): Promise<boolean> {
  const { phase } = await readAgentStatus(rig.runDirectory);
  return phase.kind === kind && 'mode' in phase && phase.mode === mode;
}

async function lines(rig: Rig): Promise<readonly string[]> {
  return (await readFile(path.join(rig.witness, 'log'), 'utf8')).trim().split('\n').filter(Boolean);
}

async function assertOrder(rig: Rig, order = ORDER): Promise<void> {
  assert.deepEqual(
    await lines(rig),
    order.flatMap((name) => [`${name} TERM`, `${name} END`]),
  );
}

describe('a reboot while no API server answers, with a real logind, kubelet and containerd', () => {
  it('the reboot waits for all pods in order, each with its grace period, and no pod comes back before the boot', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = await buildRig(stack, 2);
    const agent = await startAgent(stack, rig);
    const late = barePod('late', { stopSec: 2, witness: rig.witness, priorityClassName: 'system-node-critical' });
    await rig.controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(late));
    const all = ORDER.toSpliced(2, 0, 'late');
    await waitFor('a younger pod runs', async () => (await runningPods(rig.controlPlane)) === all.length, SLOW);
    await rig.controlPlane.stopApiServer();
    await rig.logind.reboot();
    await waitFor('the agent releases the machine', () => phaseIs(rig, 'released', 'offline'), {
      ...SLOW,
      program: agent,
    });
    // The agent has not noted the younger pod: the kubelet tells that it is critical.
    await assertOrder(rig, all);
    assert.deepEqual(await rig.runtime.livePods(AbortSignal.timeout(10_000)), []);
    assert.deepEqual(await readdir(rig.node.staticPodPath), []);
    const isDown = (): Promise<boolean> => Promise.resolve(rig.logind.startedTargets().length > 0);
    await waitFor('logind goes on with the reboot', isDown, SLOW);

    await agent.stop();
    await writeFile(rig.bootIdPath, 'boot-2');
    rig.logind.standIn.finishJob();
    await rig.node.startKubelet({ untilReady: false });
    const environment = { DBUS_SYSTEM_BUS_ADDRESS: rig.logind.address };
    stack.use(startNodemaint(['agent', '--config', rig.configFile], path.join(rig.folder, 'agent.log'), environment));
    await waitFor(
      'the agent watches again',
      async () => {
        return (await readAgentStatus(rig.runDirectory)).phase.kind === 'watching';
      },
      SLOW,
    );
    assert.deepEqual((await readdir(rig.node.staticPodPath)).toSorted(), ['high.yaml', 'low.yaml']);
    await rig.controlPlane.startApiServer();
    const alive = async (): Promise<number> => (await rig.runtime.livePods(AbortSignal.timeout(10_000))).length;
    await waitFor('all pods run again', async () => (await alive()) === all.length, SLOW);
  });

  it('the reboot keeps the order while containerd hangs, and while connections to it break in the middle of stops', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = await buildRig(stack, 2);
    const agent = await startAgent(stack, rig);
    await rig.controlPlane.stopApiServer();
    rig.proxy.set('hang');
    await rig.logind.reboot();
    const isWaiting = async (): Promise<boolean> => {
      const { waitingFor } = await readAgentStatus(rig.runDirectory);
      return waitingFor.some(({ message }) => message.startsWith('are not known: '));
    };
    await waitFor('the agent waits for containerd', isWaiting, { ...SLOW, program: agent });
    assert.deepEqual(await lines(rig), []);
    rig.proxy.set('open');
    const hasLine = (line: string) => async (): Promise<boolean> => (await lines(rig)).includes(line);
    await waitFor('the first tier is ending', hasLine('web TERM'), { ...SLOW, program: agent });
    rig.proxy.set('broken');
    await waitFor('the first tier has ended', hasLine('web END'), { ...SLOW, program: agent });
    rig.proxy.set('open');
    await waitFor('the second tier is ending', hasLine('vip TERM'), { ...SLOW, program: agent });
    rig.proxy.set('hang');
    await waitFor('the agent waits for containerd again', isWaiting, { ...SLOW, program: agent });
    rig.proxy.set('open');
    const isReleased = (): Promise<boolean> => phaseIs(rig, 'released', 'offline');
    await waitFor('the agent releases the machine', isReleased, { ...SLOW, program: agent });
    // A stop that is repeated may bring another SIGTERM.
    const all = (await lines(rig)).filter((line, index, told) => told.indexOf(line) === index);
    assert.deepEqual(
      all,
      ORDER.flatMap((name) => [`${name} TERM`, `${name} END`]),
    );
    const { phase } = await readAgentStatus(rig.runDirectory);
    assert.equal(phase.kind === 'released' && phase.forced, undefined);
    assert.deepEqual(await rig.runtime.livePods(AbortSignal.timeout(10_000)), []);
  });

  if (isThorough('the stop of the unit while no API server answers'))
    it('the stop of the unit waits for all pods too, with the kubelet ended', async () => {
      await using stack = new AsyncDisposableStack();
      const rig = await buildRig(stack, 2);
      const agent = await startAgent(stack, rig);
      await rig.controlPlane.stopApiServer();
      rig.logind.standIn.systemState = 'stopping';
      agent.kill('SIGTERM');
      await waitFor('the agent ends', () => agent.exited(), SLOW);
      await assertOrder(rig);
      assert.deepEqual(await rig.runtime.livePods(AbortSignal.timeout(10_000)), []);
      assert.equal(rig.logind.standIn.units.get('kubelet.service')?.active, false);
    });

  it('the drain goes on in the cluster when its API server is back in mid-drain, and stops no pod twice', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = await buildRig(stack, 45);
    const agent = await startAgent(stack, rig);
    await rig.controlPlane.stopApiServer();
    await rig.logind.reboot();
    await waitFor('the second tier is on its way', async () => (await lines(rig)).includes('vip TERM'), {
      ...SLOW,
      program: agent,
    });
    await rig.controlPlane.startApiServer();
    await waitFor('the cluster has taken over', () => phaseIs(rig, 'draining', 'cluster'), { ...SLOW, program: agent });
    await waitFor('the agent releases the machine', () => phaseIs(rig, 'released', 'cluster'), {
      ...SLOW,
      program: agent,
    });
    await assertOrder(rig);
    const text = await rig.controlPlane.kubectl(['get', 'nm', '-o', 'json']);
    const [maintenance] = (JSON.parse(text) as { items: NodeMaintenance[] }).items;
    const drained = maintenance?.status?.conditions?.find(({ type }) => type === DRAINED);
    assert.equal(drained?.status, 'True');
    assert.deepEqual(await rig.runtime.livePods(AbortSignal.timeout(10_000)), []);
  });

  it('the drain keeps a deadline, and shortens pods that are ending already when it comes closer', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = await buildRig(stack, 50);
    const agent = await startAgent(stack, rig);
    const trigger = async (deadline: string): Promise<void> => {
      const flags = ['--reason', 'test', '--deadline', deadline, '--run-directory', rig.runDirectory];
      const { code, stderr } = await runNodemaint(['trigger', ...flags]);
      assert.equal(code, 0, stderr);
    };
    await rig.controlPlane.stopApiServer();
    await trigger('600s');
    await waitFor('a pod with 60 s is ending', async () => (await lines(rig)).includes('logger TERM'), {
      ...SLOW,
      program: agent,
    });
    await trigger('25s');
    const deadline = Date.now() + 25_000;
    await waitFor('the agent releases the machine', () => phaseIs(rig, 'released', 'offline'), {
      ...SLOW,
      program: agent,
    });
    assert.ok(Date.now() <= deadline, `${(Date.now() - deadline) / 1000} s late`);
    const told = (await lines(rig)).filter((line) => line.endsWith('TERM'));
    assert.deepEqual(
      told,
      ORDER.map((name) => `${name} TERM`),
    );
    assert.ok(!(await lines(rig)).includes('logger END'), 'it was not given its 50 s');
  });
});

describe('a reboot whose NodeMaintenance somebody with the rights of the controller completes', () => {
  it('the agent drains the node alone: all pods end in order, each with its grace period', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = await buildRig(stack, 2);
    const thief = stack.use(await startFalseLeader(rig.controlPlane));
    const agent = await startAgent(stack, rig);
    await rig.logind.reboot();
    const made = ['get', 'nm', '-o', 'jsonpath={.items[*].metadata.name}'];
    await waitFor('the shutdown has its maintenance', async () => (await rig.controlPlane.kubectl(made)) !== '', {
      ...SLOW,
      program: agent,
    });
    assert.deepEqual(await lines(rig), []);
    await thief.complete(await rig.controlPlane.kubectl(made));
    await waitFor('the agent releases the machine', () => phaseIs(rig, 'released', 'offline'), {
      ...SLOW,
      program: agent,
    });
    await assertOrder(rig);
    const { phase } = await readAgentStatus(rig.runDirectory);
    assert.equal(phase.kind === 'released' && phase.forced, undefined);
    assert.deepEqual(await rig.runtime.livePods(AbortSignal.timeout(10_000)), []);
    const events = ['get', 'events', '-A', '--field-selector', 'reason=MaintenanceCompleted', '-o', 'name'];
    await waitFor('an Event tells of it', async () => (await rig.controlPlane.kubectl(events)) !== '', SLOW);
  });
});
