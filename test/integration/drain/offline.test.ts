import assert from 'node:assert/strict';
import { readdir, writeFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { DRAINED, type NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import { readAgentStatus, runNodemaint } from '../../support/commands/nodemaint.ts';
import { barePod, buildRig, ORDER, startHolding } from '../../support/rigs/offline-reboot.ts';
import { assertOrder, lines, phaseIs, runningPods, startAgent } from '../../support/rigs/pod-node.ts';
import { SLOW, waitFor } from '../../support/wait-for.ts';

describe('a reboot while no API server answers, with a real logind, kubelet and containerd', () => {
  it('the reboot waits for all pods in order, each with its grace period, and no pod comes back before the boot', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = await buildRig(stack, 2);
    const agent = await startHolding(stack, rig);
    const late = barePod('late', { stopSec: 2, witness: rig.witness, priorityClassName: 'system-node-critical' });
    await rig.controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(late));
    const all = ORDER.toSpliced(2, 0, 'late');
    await waitFor('a younger pod runs', async () => (await runningPods(rig.controlPlane)).length === all.length, SLOW);
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
    await startAgent(stack, rig, { DBUS_SYSTEM_BUS_ADDRESS: rig.logind.address });
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
    const agent = await startHolding(stack, rig);
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

  it('the drain goes on in the cluster when its API server is back in mid-drain, and stops no pod twice', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = await buildRig(stack, 45);
    const agent = await startHolding(stack, rig);
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
    await assertOrder(rig, ORDER);
    const text = await rig.controlPlane.kubectl(['get', 'nm', '-o', 'json']);
    const [maintenance] = (JSON.parse(text) as { items: NodeMaintenance[] }).items;
    const drained = maintenance?.status?.conditions?.find(({ type }) => type === DRAINED);
    assert.equal(drained?.status, 'True');
    assert.deepEqual(await rig.runtime.livePods(AbortSignal.timeout(10_000)), []);
  });

  it('the drain keeps a deadline, and shortens pods that are ending already when it comes closer', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = await buildRig(stack, 50);
    const agent = await startHolding(stack, rig);
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
    await waitFor('the agent releases the machine in time', () => phaseIs(rig, 'released', 'offline'), {
      timeoutMs: 25_000,
      program: agent,
    });
    const told = (await lines(rig)).filter((line) => line.endsWith('TERM'));
    assert.deepEqual(
      told,
      ORDER.map((name) => `${name} TERM`),
    );
    assert.ok(!(await lines(rig)).includes('logger END'), 'it was not given its 50 s');
  });
});
