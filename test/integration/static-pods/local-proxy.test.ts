/** A node whose way to the API server is a static pod of its own, as on workers of kubespray, with a real kubelet and containerd. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import { freePort } from '../../control-plane/port.ts';
import { staticPod } from '../../node/pods.ts';
import { drainOf } from '../../support/maintenance/objects.ts';
import * as reboot from '../../support/rigs/offline-reboot.ts';
import { assertOrder, runningPods } from '../../support/rigs/pod-node.ts';
import { SLOW, waitFor } from '../../support/wait-for.ts';

/** Makes a static pod of the node the way to the API server, for its kubelet and whoever has the kubelet's kubeconfig. */
async function useLocalProxy({ controlPlane, node, witness, configFile }: reboot.OfflineRig): Promise<void> {
  const { url } = controlPlane;
  const port = await freePort();
  const tell = (what: string): string => `echo "proxy ${what}" >>/witness/log`;
  const script = `trap '${tell('TERM')}; ${tell('END')}; exit 0' TERM
nc -ll -p ${port} -e nc 127.0.0.1 ${new URL(url).port} & while :; do sleep 0.2; done`;
  const pod = staticPod('proxy', { witness }) as { spec: { containers: object[] } };
  const more = { ports: [{ containerPort: port }], command: ['/bin/sh', '-c', script] };
  pod.spec.containers = pod.spec.containers.map((each) => ({ ...each, ...more }));
  await writeFile(path.join(node.staticPodPath, 'proxy.yaml'), JSON.stringify(pod));
  const config = (await readFile(node.kubeconfig, 'utf8')).replaceAll(url, `https://127.0.0.1:${port}`);
  const carries = async (): Promise<boolean> => (await fetch(`http://127.0.0.1:${port}`)).status >= 400;
  await waitFor('the proxy carries requests', carries, SLOW);
  await writeFile(node.kubeconfig, config);
  await node.restartKubelet();
  const agent = JSON.parse(await readFile(configFile, 'utf8')) as object;
  await writeFile(configFile, JSON.stringify({ ...agent, kubeconfig: node.kubeconfig }));
}

describe('a node whose way to the API server is a static pod of its own', () => {
  it('that pod stays in a drain, which ends and is heard to be over, and leaves last in a shutdown, whatever its priority', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = await reboot.buildRig(stack, 2);
    const { controlPlane, node } = rig;
    await useLocalProxy(rig);
    // Past the proxy, as a person does from elsewhere.
    const ask = async (stage: 'Drain' | 'Complete'): Promise<string> =>
      await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(drainOf('m', [node.name], { stage })));
    const release = await reboot.askForReboot(stack, rig, async () => {
      const says = async (): Promise<boolean> =>
        (await controlPlane.kubectl(['get', 'node', node.name, '-o', 'json'])).includes('carriers');
      await waitFor('the agent names it on the Node', says, SLOW);
      await ask('Drain');
      await controlPlane.kubectl(['wait', 'nm/m', '--for=condition=Drained', '--timeout=90s']);
      const { status } = JSON.parse(await controlPlane.kubectl(['get', 'nm/m', '-o', 'json'])) as NodeMaintenance;
      assert.match(status?.nodeStatuses?.[0]?.drainMessage ?? '', /^Drained; what stays: .*: kube-system\/proxy-/);
      await assertOrder(rig, reboot.ORDER);
      await ask('Complete');
      const areBack = async (): Promise<boolean> => (await runningPods(controlPlane)).length === 4;
      await waitFor('low, high, proxy and logger run', areBack, SLOW);
    });
    const { phase, tookSec } = await release(120_000);
    await assertOrder(rig, [...reboot.ORDER, 'logger', 'low', 'high', 'proxy']);
    assert.doesNotMatch(phase, /forced/);
    assert.ok(tookSec < 60, `released after ${tookSec} s`);
  });
});
