import assert from 'node:assert/strict';
import { rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { controlPlaneBinaries } from '../../control-plane/binaries.ts';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import { wantedRelease } from '../../control-plane/releases.ts';
import { startNode, type TestNode } from '../../node/node.ts';
import { daemonSet, deployment, staticPod } from '../../node/pods.ts';
import { waitFor } from '../../support/wait-for.ts';

interface PodView {
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: { readonly nodeName?: string };
  readonly status: { readonly phase: string };
}

describe('the control plane and the node that the tests run on', () => {
  const { signal } = new AbortController();
  let controlPlane: ControlPlane;
  let node: TestNode;

  before(async () => {
    // Built before the clock starts, on a machine that has none yet.
    await controlPlaneBinaries(signal);
  });

  after(async () => {
    await node?.[Symbol.asyncDispose]();
    await controlPlane?.[Symbol.asyncDispose]();
  });

  async function pods(namespace: string, app: string): Promise<readonly PodView[]> {
    const text = await controlPlane.kubectl(['get', 'pods', '-n', namespace, '-l', `app=${app}`, '-o', 'json']);
    return (JSON.parse(text) as { items: PodView[] }).items;
  }

  async function untilRunning(namespace: string, app: string): Promise<PodView> {
    const isRunning = async (): Promise<boolean> => (await pods(namespace, app))[0]?.status.phase === 'Running';
    await waitFor(`${app} runs`, isRunning, { timeoutMs: 60_000, signal });
    return (await pods(namespace, app))[0] ?? assert.fail();
  }

  async function untilGone(namespace: string, app: string): Promise<void> {
    const isGone = async (): Promise<boolean> => (await pods(namespace, app)).length === 0;
    await waitFor(`${app} is gone`, isGone, { timeoutMs: 60_000, signal });
  }

  async function nodeReady(): Promise<string> {
    const condition = 'jsonpath={.status.conditions[?(@.type=="Ready")].status}';
    return await controlPlane.kubectl(['get', 'node', 'node-a', '-o', condition]);
  }

  it('the control plane gets up', async () => {
    controlPlane = await startControlPlane({ extraSans: ['10.0.2.100'] }, signal);
    const { serverVersion } = JSON.parse(await controlPlane.kubectl(['version', '-o', 'json'])) as {
      serverVersion: { gitVersion: string };
    };
    assert.equal(serverVersion.gitVersion, wantedRelease().version);
    assert.match(await controlPlane.kubectl(['api-resources', '-o', 'name']), /^mutatingadmissionpolicies\./m);
  });

  it('the node gets ready', async () => {
    node = await startNode(controlPlane, 'node-a', signal);
    assert.equal(await nodeReady(), 'True');
  });

  it('the node runs the pod of a Deployment and of a DaemonSet', async () => {
    for (const object of [deployment('web', { stopSec: 1 }), daemonSet('logger', { stopSec: 1 })]) {
      await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
    }
    for (const app of ['web', 'logger']) assert.equal((await untilRunning('default', app)).spec.nodeName, 'node-a');
  });

  it('the node runs a static pod and shows its mirror, until its manifest is gone', async () => {
    const manifest = path.join(node.staticPodPath, 'etcd.yaml');
    const hidden = path.join(node.staticPodPath, '.etcd.yaml');
    await writeFile(hidden, JSON.stringify(staticPod('etcd', { stopSec: 1 })));
    await rename(hidden, manifest);
    const mirror = await untilRunning('kube-system', 'etcd');
    assert.equal(mirror.metadata.name, 'etcd-node-a');
    assert.ok(mirror.metadata.annotations?.['kubernetes.io/config.mirror']);
    await rm(manifest);
    await untilGone('kube-system', 'etcd');
  });

  it('the API server refuses a node that reads or changes what is not its own', async () => {
    const other = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-b' } };
    await controlPlane.kubectl(['create', '-f', '-'], JSON.stringify(other));
    const asNode = (args: readonly string[]): Promise<string> =>
      controlPlane.kubectl(['--kubeconfig', node.kubeconfig, ...args]);
    assert.equal(await asNode(['get', 'node', 'node-a', '-o', 'name']), 'node/node-a\n');
    await assert.rejects(asNode(['get', 'node', 'node-b']), /Forbidden.*node 'node-a' cannot read 'node-b'/);
    await assert.rejects(asNode(['cordon', 'node-b']), /Forbidden/);
    await controlPlane.kubectl(['delete', 'node', 'node-b']);
  });

  it('the node keeps its pods while the kubelet restarts and while the API server is away', async () => {
    const before = (await untilRunning('default', 'web')).metadata.name;
    await controlPlane.stopApiServer();
    await node.restartKubelet({ untilReady: false });
    await assert.rejects(controlPlane.kubectl(['get', 'nodes']), /refused/);
    await controlPlane.startApiServer();
    await node.restartKubelet();
    assert.equal(await nodeReady(), 'True');
    assert.equal((await untilRunning('default', 'web')).metadata.name, before);
  });

  it('the node ends a pod in its own time when it is deleted', async () => {
    await controlPlane.kubectl(['delete', 'daemonset', 'logger']);
    await controlPlane.kubectl(['delete', 'deployment', 'web']);
    await untilGone('default', 'logger');
    await untilGone('default', 'web');
  });
});
