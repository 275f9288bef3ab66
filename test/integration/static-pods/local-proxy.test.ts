/** A node whose way to the API server is a static pod of its own, as on workers of kubespray, with a real kubelet and containerd. */
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import { freePort } from '../../control-plane/port.ts';
import { packBusybox, packImages } from '../../node/images.ts';
import type { TestNode } from '../../node/node.ts';
import { staticPod } from '../../node/pods.ts';
import * as reboot from '../../support/rigs/offline-reboot.ts';
import { SLOW, waitFor } from '../../support/wait-for.ts';

/** Makes a static pod of the node the way to the API server, for its kubelet and whoever has the kubelet's kubeconfig. */
async function useLocalProxy({ url }: ControlPlane, node: TestNode, witness: string): Promise<void> {
  const image = 'nodemaint.test/haproxy:1';
  const folder = path.join(node.folder, 'proxy-image');
  await mkdir(folder);
  await node.importImage(await packImages(folder, [{ name: image, layer: await packBusybox(folder), config: {} }]));
  const port = await freePort();
  const tell = (what: string): string => `echo "proxy ${what}" >>/witness/log`;
  const script = `trap '${tell('TERM')}; ${tell('END')}; exit 0' TERM
nc -ll -p ${port} -e nc 127.0.0.1 ${new URL(url).port} & while :; do sleep 0.2; done`;
  const pod = staticPod('proxy', { witness, priorityClassName: 'system-node-critical' }) as {
    spec: { containers: object[] };
  };
  pod.spec.containers = pod.spec.containers.map((each) => ({ ...each, image, command: ['/bin/sh', '-c', script] }));
  await writeFile(path.join(node.staticPodPath, 'proxy.yaml'), JSON.stringify(pod));
  const config = (await readFile(node.kubeconfig, 'utf8')).replaceAll(url, `https://127.0.0.1:${port}`);
  const carries = async (): Promise<boolean> => (await fetch(`http://127.0.0.1:${port}`)).status >= 400;
  await waitFor('the proxy carries requests', carries, SLOW);
  await writeFile(node.kubeconfig, config);
  await node.restartKubelet();
}

describe('a node whose way to the API server is a static pod of its own', () => {
  it('the machine goes down in order: that pod leaves last, and nothing waits for the API server', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = await reboot.buildRig(stack, 2);
    await useLocalProxy(rig.controlPlane, rig.node, rig.witness);
    const config = JSON.parse(await readFile(rig.configFile, 'utf8')) as object;
    await writeFile(rig.configFile, JSON.stringify({ ...config, kubeconfig: rig.node.kubeconfig }));
    const release = await reboot.askForReboot(stack, rig);
    const { phase, tookSec } = await release(120_000);
    await reboot.assertOrder(rig, [...reboot.ORDER, 'proxy']);
    assert.doesNotMatch(phase, /forced/);
    assert.ok(tookSec < 60, `released after ${tookSec} s`);
  });
});
