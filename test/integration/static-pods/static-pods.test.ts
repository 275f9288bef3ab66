import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { after, before, describe, it } from 'node:test';
import type { EvictionRequest } from '../../../src/api/eviction-request.ts';
import { type ContainerRuntime, createContainerRuntime } from '../../../src/host/cri/runtime.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import { type Program } from '../../control-plane/process.ts';
import { startNode, type TestNode } from '../../node/node.ts';
import { staticPod } from '../../node/pods.ts';
import { startInstalledCluster } from '../../support/commands/installed-cluster.ts';
import { nodemaintCommand, readAgentStatus, runNodemaint, startNodemaint } from '../../support/commands/nodemaint.ts';
import { makeTestFolder } from '../../support/folder.ts';
import { isThorough } from '../../support/thorough.ts';
import { SLOW, waitFor } from '../../support/wait-for.ts';
import { keysOfNode, writeAgentFiles } from '../../support/agent/files.ts';
import { drainOf } from '../../support/maintenance/objects.ts';

// Unlike any other test's: while its kubelet is down, another one of that name on this machine would be taken for it.
const NODE = `static-pods-${process.pid}`;
const POD = 'registry';
const FILE = `${POD}.yaml`;
const STOP_SEC = 5;

describe('a static pod under a real kubelet, containerd and API server', () => {
  const { signal } = new AbortController();
  const stack = new AsyncDisposableStack();
  let controlPlane: ControlPlane;
  let node: TestNode;
  let runtime: ContainerRuntime;
  let agent: Program;
  let folder: string;
  let content: string;

  before(async () => {
    folder = await makeTestFolder('static');
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    const cluster = stack.use(await startInstalledCluster({}, signal));
    ({ controlPlane } = cluster);
    node = stack.use(await startNode(controlPlane, NODE, signal));
    runtime = createContainerRuntime(node.runtimeEndpoint);
    stack.defer(() => runtime.close());
    const witness = path.join(folder, 'witness');
    await mkdir(witness);
    content = JSON.stringify(staticPod(POD, { stopSec: STOP_SEC, graceSec: 8, witness }));
    await writeFile(path.join(node.staticPodPath, FILE), content);
    stack.use(
      startNodemaint(['controller', '--kubeconfig', cluster.controllerKubeconfig], path.join(folder, 'controller.log')),
    );
    // No staticPodPath and no healthz: the running kubelet has them.
    const found = { staticPodPath: undefined, kubeletHealthz: undefined };
    await writeAgentFiles(folder, { ...keysOfNode(node), ...found, apiWaitSec: 2, progressWaitSec: 30 });
    await startAgent();
    await waitFor('the pod runs', isRunning, { ...SLOW, program: agent });
  });
  after(() => stack.disposeAsync());

  async function startAgent(): Promise<void> {
    const command = nodemaintCommand(['agent', '--config', path.join(folder, 'config.yaml')]);
    agent = stack.use(node.start(command, path.join(folder, 'agent.log')));
    await waitFor('the agent answers', async () => (await readAgentStatus(path.join(folder, 'run'))).node === NODE, {
      ...SLOW,
      program: agent,
    });
  }

  /** Kills the agent and starts another one, which reads what `before` has changed. */
  async function restartAgent(before: () => Promise<void>): Promise<void> {
    agent.kill('SIGKILL');
    await agent.stop();
    await before();
    await startAgent();
  }

  const phaseOf = async (): Promise<string> => (await readAgentStatus(path.join(folder, 'run'))).phase.kind;
  const told = (verb: string, ...args: string[]) =>
    runNodemaint([verb, ...args, '--run-directory', path.join(folder, 'run')]);
  const isLive = async (): Promise<boolean> =>
    (await runtime.livePods(signal)).some(({ podName }) => podName === `${POD}-${NODE}`);
  const mirror = async (): Promise<string> =>
    await controlPlane.kubectl([
      '-n',
      'kube-system',
      'get',
      'pod',
      `${POD}-${NODE}`,
      '--ignore-not-found',
      '-o',
      'name',
    ]);
  const inPlace = async (): Promise<boolean> => (await readdir(node.staticPodPath)).includes(FILE);

  async function isRunning(): Promise<boolean> {
    const wanted = ['-n', 'kube-system', 'get', 'pod', `${POD}-${NODE}`, '-o', 'jsonpath={.status.phase}'];
    return (await controlPlane.kubectl(wanted).catch(() => '')) === 'Running' && (await isLive());
  }

  /** The witness's lines since it was last asked. */
  async function takeWitness(): Promise<readonly string[]> {
    const log = path.join(folder, 'witness', 'log');
    const text = await readFile(log, 'utf8');
    await writeFile(log, '');
    return text.split('\n').filter((line) => line !== '');
  }

  /** For some seconds: nothing comes back. */
  async function assertStaysAway(): Promise<void> {
    for (const end = Date.now() + 5_000; Date.now() < end; ) {
      assert.equal(await isLive(), false);
      assert.equal(await inPlace(), false);
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }

  async function assertBack(): Promise<void> {
    await waitFor('the pod runs again under its name', isRunning, { ...SLOW, program: agent });
    assert.equal(await readFile(path.join(node.staticPodPath, FILE), 'utf8'), content);
  }

  it('the agent finds the static pods by what the running kubelet says of itself', async () => {
    const text = await readFile(path.join(folder, 'agent.log'), 'utf8');
    assert.match(text, new RegExp(`"staticPodPath":"${node.staticPodPath}"`));
  });

  it('the static pod ends in its own time, stays away over a restart of the kubelet, and comes back under its name', async () => {
    const maintenance = drainOf('firmware', [NODE], { reason: 'firmware' });
    await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(maintenance));
    let message = '';
    await waitFor(
      'the containers have ended',
      async () => {
        const list = await controlPlane.kubectl(['get', 'evreq', '-A', '-o', 'json']);
        const { items } = JSON.parse(list) as { items: readonly EvictionRequest[] };
        const entry = items[0]?.status?.interceptors?.find(({ name }) => name === 'kubelet.k8s.io');
        if (message === '') message = entry?.message ?? '';
        return !(await inPlace()) && !(await isLive());
      },
      { ...SLOW, program: agent },
    );
    assert.equal(message, `${POD}-${NODE} is terminating the pod due to node maintenance (firmware).`);
    assert.deepEqual(await takeWitness(), [`${POD} TERM`, `${POD} END`]);
    await waitFor('the mirror pod is gone', async () => (await mirror()) === '', { ...SLOW, program: agent });
    await controlPlane.kubectl(['wait', '--for=condition=Drained', 'nm/firmware', '--timeout=300s']);

    await node.restartKubelet();
    await assertStaysAway();
    assert.equal(await mirror(), '');
    await controlPlane.kubectl(['delete', 'nm', 'firmware', '--timeout=300s']);
    await assertBack();
  });

  if (isThorough('a static pod that is to leave while the kubelet is down'))
    it('the static pod has its whole grace period when it is to leave while the kubelet is down', async () => {
      await node.stopKubelet();
      assert.equal((await told('trigger', '--reason', 'disk')).code, 0);
      const what = async (): Promise<string> => (await told('status')).stdout;
      await waitFor('the agent says what it waits for', async () => (await what()).includes('the kubelet is down'), {
        ...SLOW,
        program: agent,
      });
      assert.equal(await inPlace(), true, 'the manifest is not moved from under the containers');
      await waitFor('the manifest is parked', async () => !(await inPlace()), { ...SLOW, program: agent });
      assert.equal(await isLive(), false);
      assert.deepEqual(await takeWitness(), [`${POD} TERM`, `${POD} END`]);
      await node.startKubelet();
      await waitFor('the machine is released', async () => (await phaseOf()) === 'released', {
        ...SLOW,
        program: agent,
      });
      assert.equal((await told('cancel')).code, 0);
      await assertBack();
    });

  if (isThorough('a kubelet that was restarted without an API server and ignores that a manifest was moved'))
    it('the agent ends the pod over CRI when a kubelet that was restarted without an API server ignores the removal', async () => {
      await controlPlane.stopApiServer();
      await node.restartKubelet({ untilReady: false });
      const { code } = await told('trigger', '--reason', 'kernel update');
      assert.equal(code, 0);
      await waitFor('the manifest is parked', async () => !(await inPlace()), { ...SLOW, program: agent });
      const parkedAt = Date.now();
      await waitFor('the machine is released', async () => (await phaseOf()) === 'released', {
        timeoutMs: 150_000,
        program: agent,
      });
      assert.ok(Date.now() - parkedAt > 40_000, 'the kubelet did it by itself');
      assert.deepEqual(await takeWitness(), [`${POD} TERM`, `${POD} END`]);
      assert.match(await readFile(path.join(folder, 'agent.log'), 'utf8'), /asking the runtime to stop the pod/);

      await node.restartKubelet({ untilReady: false });
      await assertStaysAway();
      await controlPlane.startApiServer();
      assert.equal((await told('cancel')).code, 0);
      await assertBack();
      await waitFor('the agent watches again', async () => (await phaseOf()) === 'watching', {
        ...SLOW,
        program: agent,
      });
    });

  it('without its certificate an agent ends the drain that it finds, and gives back at the boot what the API server needs', async () => {
    const kubeconfig = await readFile(node.kubeconfig, 'utf8');
    const away = { 'client-certificate': '/away', 'client-key': '/away' };
    const withoutCertificate = JSON.stringify({ ...JSON.parse(kubeconfig), users: [{ name: 'test', user: away }] });
    const until = (phase: string): Promise<void> =>
      waitFor(`the phase is ${phase}`, async () => (await phaseOf()) === phase, { timeoutMs: 150_000, program: agent });
    assert.equal((await told('trigger', '--reason', 'kernel update')).code, 0);
    await waitFor('the manifest is parked', async () => !(await inPlace()), { ...SLOW, program: agent });
    await restartAgent(() => writeFile(node.kubeconfig, withoutCertificate));
    const says = async (): Promise<boolean> =>
      /WARNING: +cannot get the credentials of .*'\/away'/.test((await told('status')).stdout);
    await waitFor('the status says why', says, { ...SLOW, program: agent });
    await until('released');
    assert.deepEqual(await takeWitness(), [`${POD} TERM`, `${POD} END`]);

    await controlPlane.stopApiServer();
    await restartAgent(() => writeFile(path.join(folder, 'boot-id'), 'boot-2'));
    await waitFor('the manifest is back', inPlace, { ...SLOW, program: agent });
    await controlPlane.startApiServer();
    await assertBack();
    await writeFile(node.kubeconfig, kubeconfig);
    await until('watching');
    const list = ['get', 'nm', '-o', 'jsonpath={.items[?(@.spec.stage!="Complete")].metadata.name}'];
    await waitFor('the maintenance is over', async () => (await controlPlane.kubectl(list)) === '', SLOW);
    assert.doesNotMatch((await told('status')).stdout, /WARNING: +cannot get/);
  });
});
