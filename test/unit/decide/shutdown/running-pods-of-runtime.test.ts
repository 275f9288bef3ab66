import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { KubeletUnitChoice } from '../../../../src/decide/machine/kubelet-unit.ts';
import { type LiveSandbox, runtimePodsOf } from '../../../../src/decide/shutdown/running-pods.ts';
import { createKubeletUnit, type KubeletUnit } from '../../../../src/host/kubelet/unit.ts';
import { openTestState } from '../../../support/agent/state.ts';
import { temporaryFolder } from '../../../support/folder.ts';

function sandbox(podUid: string, fields: Partial<LiveSandbox> = {}): LiveSandbox {
  const annotations = { 'kubernetes.io/config.source': 'api' };
  return { id: `s-${podUid}`, namespace: 'n', podName: podUid, podUid, labels: {}, annotations, ...fields };
}

describe('the pods of a node as its runtime shows them', () => {
  it('the pods of the runtime have the type that their sandbox tells, priority 0, and the grace period of the kubelet', () => {
    const file = { annotations: { 'kubernetes.io/config.source': 'file' } };
    const daemon = { labels: { 'pod-template-generation': '1' }, graceSec: 5 };
    const pods = runtimePodsOf([sandbox('a'), sandbox('b', daemon), sandbox('c', file)], new Map());
    const told = pods.map(({ podType, priority, graceSec }) => [podType, priority, graceSec]);
    assert.deepEqual(told, [
      ['Default', 0, 30],
      ['DaemonSet', 0, 5],
      ['Static', 0, 30],
    ]);
  });

  it("the pods of the runtime pass for a DaemonSet's by a label that any user may write only where the API server never told of them", () => {
    const label = { labels: { 'pod-template-generation': '1' } };
    const known = new Map([['told', { podType: 'Default', priority: 3 } as const]]);
    const pods = runtimePodsOf([sandbox('told', label), sandbox('young', label)], known);
    assert.deepEqual(
      pods.map(({ uid, podType, priority }) => [uid, podType, priority]),
      [
        ['told', 'Default', 3],
        ['young', 'DaemonSet', 0],
      ],
    );
  });

  it('the pods of the runtime have what the API server said of them, where it said something', () => {
    const known = new Map([['a', { podType: 'DaemonSet', priority: 7 } as const]]);
    const [pod] = runtimePodsOf([sandbox('a')], known);
    assert.equal(pod?.podType, 'DaemonSet');
    assert.equal(pod.priority, 7);
  });

  it('the pods of the runtime are one with all of their sandboxes', () => {
    const [pod, ...others] = runtimePodsOf([sandbox('a'), sandbox('a', { id: 's-2', graceSec: 9 })], new Map());
    assert.deepEqual(pod?.sandboxIds, ['s-a', 's-2']);
    assert.equal(pod.graceSec, 9);
    assert.deepEqual(others, []);
  });
});

/** A kubelet's unit and what happened to it; each `unit` is what an agent that was just started has. */
async function rig(t: TestContext, state: 'active' | 'inactive') {
  const folder = await temporaryFolder(t, 'kubelet');
  const calls: string[] = [];
  let active = state;
  const units = {
    isGoingDown: () => Promise.resolve(false),
    endUnit: () => Promise.reject(new Error('only while systemd stops all units')),
    unitActiveState: () => Promise.resolve(active),
    startUnit: (name: string) => {
      calls.push(`start ${name}`);
      active = 'active';
      return Promise.resolve();
    },
    stopUnit: (name: string) => {
      calls.push(`stop ${name}`);
      active = 'inactive';
      return Promise.resolve();
    },
  };
  // Found only while the kubelet runs.
  const choose = (): Promise<KubeletUnitChoice> =>
    Promise.resolve(
      active === 'active' ? { kind: 'unit', unit: 'k.service' } : { kind: 'unit', unit: 'other.service' },
    );
  const files = await openTestState(folder);
  const unit = (bootId: string): KubeletUnit => createKubeletUnit(units, { choose, state: files, bootId });
  return { calls, unit };
}

describe("the kubelet's unit", () => {
  it("the kubelet's unit is started again by the next agent of the same boot", async (t: TestContext) => {
    const { calls, unit } = await rig(t, 'active');
    await unit('b1').stop(t.signal);
    assert.equal(await unit('b1').isStopped(), true);
    await unit('b1').giveBack(t.signal);
    await unit('b1').giveBack(t.signal);
    assert.deepEqual(calls, ['stop k.service', 'start k.service']);
  });

  it("the kubelet's unit is left to the boot after one", async (t: TestContext) => {
    const { calls, unit } = await rig(t, 'active');
    await unit('b1').stop(t.signal);
    await unit('b2').giveBack(t.signal);
    assert.deepEqual(calls, ['stop k.service']);
  });

  it("the kubelet's unit is not started where another process had stopped it", async (t: TestContext) => {
    const { calls, unit } = await rig(t, 'inactive');
    await unit('b1').stop(t.signal);
    await unit('b1').giveBack(t.signal);
    assert.deepEqual(calls, []);
  });
});
