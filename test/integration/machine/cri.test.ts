import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type ContainerRuntime, createContainerRuntime, type PodSandbox } from '../../../src/host/cri/runtime.ts';
import { readManifests } from '../../../src/static-pods/directory.ts';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import { startNode, type TestNode } from '../../node/node.ts';
import { type PodShape, staticPod } from '../../node/pods.ts';
import { waitFor } from '../../support/wait-for.ts';

describe('the container runtime client, with containerd and the kubelet', () => {
  const { signal } = new AbortController();
  let controlPlane: ControlPlane;
  let node: TestNode;
  let runtime: ContainerRuntime;

  before(async () => {
    controlPlane = await startControlPlane({}, signal);
    node = await startNode(controlPlane, 'node-a', signal);
    runtime = createContainerRuntime(node.runtimeEndpoint);
  });

  after(async () => {
    runtime?.close();
    await node?.[Symbol.asyncDispose]();
    await controlPlane?.[Symbol.asyncDispose]();
  });

  async function findPod(name: string): Promise<PodSandbox | undefined> {
    return (await runtime.livePods(signal)).find(({ podName }) => podName === `${name}-${node.name}`);
  }

  async function startPod(name: string, shape: PodShape): Promise<PodSandbox> {
    await writeFile(path.join(node.staticPodPath, `${name}.yaml`), JSON.stringify(staticPod(name, shape)));
    const isRunning = async (): Promise<boolean> => (await findPod(name))?.runningContainers === 1;
    await waitFor(`${name} runs`, isRunning, { timeoutMs: 60_000, signal });
    return (await findPod(name)) ?? assert.fail();
  }

  async function removePod(name: string): Promise<void> {
    await rm(path.join(node.staticPodPath, `${name}.yaml`));
  }

  it('the client returns the version of the runtime', async () => {
    assert.equal((await runtime.version(signal)).runtimeName, 'containerd');
  });

  it('the client lists a static pod under the name that its manifest gives, until its containers have ended', async () => {
    const startedAt = Date.now();
    const pod = await startPod('web', { stopSec: 1 });
    const { manifests, invalid } = await readManifests(node.staticPodPath, node.name, signal);
    assert.deepEqual(invalid, []);
    assert.deepEqual([manifests[0]?.namespace, manifests[0]?.podName], [pod.namespace, pod.podName]);
    assert.equal(pod.ready, true);
    assert.ok(Math.abs(pod.createdAt - startedAt) < 60_000, `created at ${pod.createdAt}`);
    assert.partialDeepStrictEqual(pod, {
      labels: { app: 'web', 'io.kubernetes.pod.uid': pod.podUid, 'io.kubernetes.pod.name': pod.podName },
      annotations: { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.hash': pod.podUid },
    });

    await removePod('web');
    const isGone = async (): Promise<boolean> => (await findPod('web')) === undefined;
    await waitFor('web is gone', isGone, { timeoutMs: 60_000, signal });
  });

  it('the client stops pods for a kubelet that cannot: one in its own time, one by force', async () => {
    const gentle = await startPod('gentle', { stopSec: 2 });
    const stubborn = await startPod('stubborn', { stopSec: 600 });
    await node.stopKubelet();
    await removePod('gentle');
    await removePod('stubborn');
    assert.equal((await findPod('gentle'))?.id, gentle.id);

    const stopAll = await Promise.all([timed(gentle.id, 60), timed(stubborn.id, 3)]);
    assert.ok(stopAll[0] > 1900 && stopAll[0] < 20_000, `gentle took ${stopAll[0]} ms`);
    assert.ok(stopAll[1] > 2900 && stopAll[1] < 20_000, `stubborn took ${stopAll[1]} ms`);
    assert.deepEqual(await runtime.livePods(signal), []);
    await runtime.stopPod(gentle.id, 1, signal);
    await node.startKubelet();
  });

  async function timed(sandboxId: string, graceSec: number): Promise<number> {
    const startedAt = performance.now();
    await runtime.stopPod(sandboxId, graceSec, signal);
    return performance.now() - startedAt;
  }
});
