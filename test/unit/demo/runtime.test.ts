import assert from 'node:assert/strict';
import { rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type DemoRuntime, startDemoRuntime } from '../../../src/demo/runtime.ts';
import type { ContainerRuntime } from '../../../src/host/cri/runtime.ts';
import { openRuntime } from '../../support/runtime-socket.ts';
import { waitFor } from '../../support/wait-for.ts';
import { temporaryFolder } from '../../support/folder.ts';

const { signal } = new AbortController();

describe('the sandbox runtime, through the container runtime client', () => {
  interface Sandbox {
    readonly folder: string;
    readonly manifests: string;
    readonly kubelet: DemoRuntime;
    readonly runtime: ContainerRuntime;
  }

  async function start(t: TestContext, stopSeconds: Readonly<Record<string, number>>): Promise<Sandbox> {
    const folder = await temporaryFolder(t, 'cri');
    const manifests = await temporaryFolder(t, 'cri');
    for (const [name, seconds] of Object.entries(stopSeconds)) {
      const annotations = { 'demo.nodemaint/stop-seconds': String(seconds) };
      const metadata = { name, namespace: 'apps', labels: { app: name }, annotations };
      await writeFile(
        path.join(manifests, `${name}.yaml`),
        JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata }),
      );
    }
    const socketPath = path.join(folder, 'cri.sock');
    const kubelet = await startDemoRuntime({ staticPodPath: manifests, socketPath, nodeName: 'Node-1' }, signal);
    t.after(() => kubelet[Symbol.asyncDispose]());
    return { folder, manifests, kubelet, runtime: openRuntime(t, socketPath) };
  }

  it('the runtime lists the pods of the folder as the kubelet names them', async (t) => {
    const { runtime } = await start(t, { db: 0, web: 0 });
    const pods = await runtime.livePods(signal);
    assert.deepEqual(pods.map(({ podName }) => podName).sort(), ['db-node-1', 'web-node-1']);
    const web = pods.find(({ podName }) => podName === 'web-node-1');
    assert.ok(web !== undefined);
    assert.match(web.podUid, /^[0-9a-f]{32}$/);
    assert.ok(Math.abs(Date.now() - web.createdAt) < 60_000, `created at ${web.createdAt}`);
    assert.partialDeepStrictEqual(web, {
      namespace: 'apps',
      ready: true,
      runningContainers: 1,
      labels: {
        app: 'web',
        'io.kubernetes.pod.name': 'web-node-1',
        'io.kubernetes.pod.namespace': 'apps',
        'io.kubernetes.pod.uid': web.podUid,
      },
      annotations: { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.hash': web.podUid },
    });
  });

  it('the runtime sees a pod end after its manifest left, and start again when it is back', async (t) => {
    const { folder, manifests, kubelet, runtime } = await start(t, { web: 0.3 });
    const [before] = await runtime.livePods(signal);
    await rename(path.join(manifests, 'web.yaml'), path.join(folder, 'web.yaml'));
    await waitFor('the pod stops', () => kubelet.pods()[0]?.state === 'stopping');
    assert.equal((await runtime.livePods(signal))[0]?.id, before?.id);
    await waitFor('no pod is alive', async () => (await runtime.livePods(signal)).length === 0);
    assert.equal(kubelet.pods()[0]?.state, 'ended');

    await rename(path.join(folder, 'web.yaml'), path.join(manifests, 'web.yaml'));
    await waitFor('one pod is alive', async () => (await runtime.livePods(signal)).length === 1);
    const [after] = await runtime.livePods(signal);
    assert.equal(after?.podUid, before?.podUid);
    assert.notEqual(after?.id, before?.id);
  });

  it('the runtime stops a pod within its own time', async (t) => {
    const { runtime } = await start(t, { web: 0.3 });
    const [pod] = await runtime.livePods(signal);
    const startedAt = performance.now();
    await runtime.stopPod(pod?.id ?? '', 60, signal);
    const ms = performance.now() - startedAt;
    assert.ok(ms > 250 && ms < 10_000, `took ${ms} ms`);
    assert.ok((await runtime.livePods(signal)).every(({ id }) => id !== pod?.id));
  });

  it('the runtime gives up waiting when it is told to', async (t) => {
    const { runtime } = await start(t, { web: 600 });
    const [pod] = await runtime.livePods(signal);
    const controller = new AbortController();
    const stopped = runtime.stopPod(pod?.id ?? '', 600, controller.signal);
    await delay(100);
    controller.abort();
    await assert.rejects(stopped, { name: 'AbortError' });
    await assert.rejects(runtime.livePods(AbortSignal.abort()), { name: 'AbortError' });
  });

  it('the runtime connects again after the runtime was restarted, and after it was closed', async (t) => {
    const { folder, manifests, kubelet, runtime } = await start(t, {});
    await runtime.version(signal);
    await kubelet[Symbol.asyncDispose]();
    await assert.rejects(runtime.version(signal), { code: 'RUNTIME_UNAVAILABLE' });
    const options = { staticPodPath: manifests, socketPath: path.join(folder, 'cri.sock'), nodeName: 'node-1' };
    const again = await startDemoRuntime(options, signal);
    t.after(() => again[Symbol.asyncDispose]());
    await waitFor(
      'the runtime answers',
      async () => (await Promise.allSettled([runtime.version(signal)]))[0].status === 'fulfilled',
    );
    runtime.close();
    await runtime.version(signal);
  });
});
