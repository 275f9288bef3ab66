/** A part of the node is away or wrong while its machine goes down with the cluster, with a real logind, kubelet and containerd. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { readAgentStatus, runNodemaint } from '../../support/commands/nodemaint.ts';
import { makeTestFolder } from '../../support/folder.ts';
import * as reboot from '../../support/rigs/offline-reboot.ts';
import { apply, assertOrder, lines, runningPods } from '../../support/rigs/pod-node.ts';
import { isThorough } from '../../support/thorough.ts';
import { SLOW, waitFor } from '../../support/wait-for.ts';

async function run(script: string): Promise<void> {
  await promisify(execFile)('sh', ['-c', script]);
}

const NO_MIRRORS = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: { name: no-mirrors }
spec:
  matchConstraints:
    resourceRules: [{ apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods] }]
  validations: [{ expression: "!('kubernetes.io/config.mirror' in object.metadata.?annotations.orValue({}))" }]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: { name: no-mirrors }
spec: { policyName: no-mirrors, validationActions: [Deny] }
`;

const IN_CLUSTER = /"mode":"cluster"/;

describe('a part of the node is away or wrong while its machine goes down with the cluster', () => {
  it('the API server refuses the mirrors of the static pods: they leave in their order all the same', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = await reboot.buildRig(stack, 2);
    const { controlPlane, node } = rig;
    await controlPlane.kubectl(['apply', '-f', '-'], NO_MIRRORS);
    const mirrors = [`low-${node.name}`, `high-${node.name}`];
    const stayAway = async (): Promise<boolean> => {
      await controlPlane.kubectl(['delete', 'pod', '-n', 'kube-system', '--ignore-not-found', '--force', ...mirrors]);
      return (await runningPods(controlPlane)).length === reboot.ORDER.length - mirrors.length;
    };
    await waitFor('no mirror comes back', stayAway, SLOW);
    const release = await reboot.askForReboot(stack, rig);
    assert.match((await release(400_000)).phase, IN_CLUSTER);
    await assertOrder(rig, reboot.ORDER);
    assert.deepEqual(await rig.runtime.livePods(AbortSignal.timeout(10_000)), []);
  });

  it('the credentials come from a program and the host has another name: the agent works for its own Node', async () => {
    await using stack = new AsyncDisposableStack();
    const folder = await makeTestFolder('exec');
    const kubeconfig = path.join(folder, 'exec.conf');
    const rig = await reboot.buildRig(stack, 2, { nodeName: undefined, kubeconfig });
    const config = JSON.parse(await readFile(rig.node.kubeconfig, 'utf8')) as {
      users: { name: string; user: Record<string, string> }[];
    };
    const decoded = (field: string): string => Buffer.from(config.users[0]?.user[field] ?? '', 'base64').toString();
    const [clientCertificateData, clientKeyData] = ['client-certificate-data', 'client-key-data'].map(decoded);
    const apiVersion = 'client.authentication.k8s.io/v1';
    const credential = { apiVersion, kind: 'ExecCredential', status: { clientCertificateData, clientKeyData } };
    const file = path.join(folder, 'credential.json');
    await writeFile(file, JSON.stringify(credential));
    const exec = { apiVersion, command: '/bin/cat', args: [file], interactiveMode: 'Never' };
    await writeFile(kubeconfig, JSON.stringify({ ...config, users: [{ name: 'test', user: { exec } }] }));
    const release = await reboot.askForReboot(stack, rig);
    assert.match((await release(400_000)).phase, IN_CLUSTER);
    assert.equal((await readAgentStatus(rig.runDirectory)).node, rig.node.name);
    await assertOrder(rig, reboot.ORDER);
  });

  it('the container runtime is away for good, and so are its containers: their control groups prove the end of the pods', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = await reboot.buildRig(stack, 2);
    const release = await reboot.askForReboot(stack, rig, async () => {
      await rig.node.stopRuntime();
      await rig.podGroups.kill();
    });
    const { phase, tookSec } = await release(180_000);
    assert.match(phase, IN_CLUSTER);
    assert.doesNotMatch(phase, /"forced"/);
    assert.ok(tookSec < 100, `released after ${tookSec} s`);
    assert.deepEqual(await lines(rig), [], 'none was told to end');
  });

  if (isThorough('a container runtime that stays away, which is waited for two minutes'))
    it('the container runtime stays away: the status says so, and the machine goes after minutes, with names', async () => {
      await using stack = new AsyncDisposableStack();
      const rig = await reboot.buildRig(stack, 2);
      const release = await reboot.askForReboot(stack, rig, () => rig.node.stopRuntime());
      const isNamed = async (): Promise<boolean> =>
        (await readAgentStatus(rig.runDirectory)).waitingFor.some(({ wait }) => wait === 'unseen-pods');
      await waitFor('the status names the container runtime', isNamed, { timeoutMs: 120_000 });
      assert.match((await release(400_000)).phase, /"forced":"[^"]*default\/vip/);
    });

  if (isThorough('a pod that the kernel holds, which is waited for seven minutes'))
    it('a pod hangs in the kernel: the machine goes seven minutes after its time, with its name, and nothing else dies early', async () => {
      await using stack = new AsyncDisposableStack();
      const folder = await makeTestFolder('frozen');
      stack.defer(() => rm(folder, { recursive: true }));
      const [image, disk] = [path.join(folder, 'image'), path.join(folder, 'disk')];
      await run(`truncate -s 8M ${image} && mkfs.ext4 -q ${image} && mkdir ${disk} && mount ${image} ${disk}`);
      stack.defer(() => run(`umount ${disk}`));
      const rig = await reboot.buildRig(stack, 2);
      // Told to end, it writes to a file system that is frozen, and no signal ends it.
      const stuck = reboot.barePod('stuck', { witness: disk, graceSec: 5 });
      await apply(rig, [stuck]);
      const areThere = async (): Promise<boolean> => (await runningPods(rig.controlPlane)).length === 6;
      await waitFor('the pod runs', areThere, SLOW);
      await run(`fsfreeze --freeze ${disk}`);
      stack.defer(() => run(`fsfreeze --unfreeze ${disk}`));
      const release = await reboot.askForReboot(stack, rig);
      const isNamed = async (): Promise<boolean> =>
        (await readAgentStatus(rig.runDirectory)).waitingFor.some(
          ({ wait, what }) => wait === 'overdue' && what === 'default/stuck',
        );
      await waitFor('the status names the pod', isNamed, SLOW);
      const { phase, tookSec } = await release(700_000);
      assert.match(phase, IN_CLUSTER);
      assert.match(phase, /"forced":"[^"]*default\/stuck"/);
      assert.ok(tookSec > 420, `released after ${tookSec} s`);
      await assertOrder(rig, reboot.ORDER);
      const { stdout } = await runNodemaint(['report', '--config', rig.configFile]);
      assert.match(stdout, /default\/stuck/);
    });

  if (isThorough('a machine that is held for a minute at most'))
    it('nothing announces how long the machine has: each tier is told to end within maxHoldSec, and has a part of it', async () => {
      await using stack = new AsyncDisposableStack();
      const rig = await reboot.buildRig(stack, 600, { maxHoldSec: 60 }, { stopSec: 600, graceSec: 600 });
      const release = await reboot.askForReboot(stack, rig);
      const { phase, tookSec } = await release(90_000);
      assert.match(phase, IN_CLUSTER);
      assert.doesNotMatch(phase, /"forced"/);
      assert.ok(tookSec < 61, `released after ${tookSec} s`);
      const told = reboot.ORDER.map((name) => `${name} TERM`);
      assert.deepEqual(await lines(rig), told, 'all are told, in order, and none has 600 s');
    });
});
