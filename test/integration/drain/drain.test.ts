import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { BOOT_ANNOTATION } from '../../../src/api/names.ts';
import { startProgram } from '../../control-plane/process.ts';
import { readAgentStatus, runNodemaint } from '../../support/commands/nodemaint.ts';
import {
  assertRestored,
  buildDrainNode,
  KERNEL_BOOT_ID,
  maintenances,
  manifestsOf,
  NODE,
  ORDER,
  reboot,
} from '../../support/rigs/drain-node.ts';
import { assertOrder, phaseIs, runningPods, startAgent } from '../../support/rigs/pod-node.ts';
import { eventually, SLOW, waitFor } from '../../support/wait-for.ts';

describe('a node that is told to shut down, on a real control plane with a real kubelet', () => {
  it('the node drains in order, keeps static pods out, and gets everything back after the boot', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = await buildDrainNode(stack, { stopSec: 2 });
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
    await assertOrder(rig, ORDER);
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
    const rig = await buildDrainNode(stack, { stopSec: 3 });
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
    await assertOrder(rig, ORDER);
    await reboot(rig, agent);
    await startAgent(stack, rig);
    await assertRestored(rig, before);
  });

  it('the node keeps static pods out after the boot until a person completes the maintenance, where that is the policy', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = await buildDrainNode(stack, { stopSec: 1, agent: { onBoot: 'wait' } });
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
    const rig = await buildDrainNode(stack, { stopSec: 1 });
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
    await controlPlane.kubectl(['wait', '--for=condition=Drained', 'nm/firmware', '--timeout=300s']);
    await assertOrder(rig, ORDER);
    assert.equal((await readAgentStatus(rig.runDirectory)).phase.kind, 'watching');
    const edited = `${before['low.yaml'] ?? ''}\n`;
    await writeFile(path.join(node.staticPodPath, 'low.yaml'), edited);
    await waitFor(
      'what somebody wrote is parked too',
      async () => Object.keys(await manifestsOf(node)).length === 0,
      SLOW,
    );
    await controlPlane.kubectl(['delete', 'nm', 'firmware', '--timeout=300s']);
    const bothRun = async (): Promise<boolean> =>
      (await runningPods(controlPlane)).filter((name) => name.endsWith(NODE)).length === 2;
    // The kubelet may have started the new pod before its manifest was parked: its end comes first.
    await waitFor('both manifests are back', async () => Object.keys(await manifestsOf(node)).length === 2, SLOW);
    assert.deepEqual(await manifestsOf(node), { ...before, 'low.yaml': edited });
    await waitFor('the static pods run again', bothRun, SLOW);
    const cordoned = await controlPlane.kubectl(['get', 'node', NODE, '-o', 'jsonpath={.spec.unschedulable}']);
    assert.equal(cordoned, 'true');
    await eventually(async () => {
      assert.equal(await controlPlane.kubectl(['get', 'evreq', '-A', '-o', 'name']), '');
    });
  });
});
