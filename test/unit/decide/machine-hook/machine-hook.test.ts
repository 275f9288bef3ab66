import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Machine } from '../../../../src/api/machine.ts';
import type { Node } from '../../../../src/api/pod.ts';
import {
  describeMachineDeletion,
  hasOwnHook,
  hookPatch,
  MACHINE_HOOK,
  machineOf,
  unhookPatch,
  wantsMachine,
} from '../../../../src/decide/machine-hook/machine-hook.ts';
import { machinesOf } from '../../../../src/kube/maintenance/machines.ts';
import { drainOf } from '../../../support/maintenance/objects.ts';

const LABEL = 'nodemaintenance.x-k8s.io/machine-hook';
const MACHINE: Machine = {
  metadata: { name: 'md-0-x', namespace: 'prod', resourceVersion: '7', annotations: { other: 'x' } },
  status: { nodeRef: { name: 'node-a' } },
};
const NODE: Node = {
  metadata: {
    name: 'node-a',
    annotations: { 'cluster.x-k8s.io/machine': 'md-0-x', 'cluster.x-k8s.io/cluster-namespace': 'prod' },
  },
};

function withMeta(metadata: Partial<Machine['metadata']>): Machine {
  return { ...MACHINE, metadata: { ...MACHINE.metadata, ...metadata } };
}

describe('the hook of a Machine', () => {
  it('the hook is set on the Machine of the node, for the version that was read', () => {
    const metadata = {
      resourceVersion: '7',
      annotations: { [MACHINE_HOOK]: 'nodemaint' },
      labels: { [LABEL]: 'true' },
    };
    assert.deepEqual(hookPatch(MACHINE, 'node-a'), { metadata });
  });

  it('the hook is never set on the Machine of another node, on one that is being deleted, or over that of others', () => {
    assert.equal(hookPatch(MACHINE, 'node-b'), undefined);
    assert.equal(hookPatch({ metadata: MACHINE.metadata }, 'node-a'), undefined);
    assert.equal(hookPatch(withMeta({ deletionTimestamp: '2026-01-01T00:00:00Z' }), 'node-a'), undefined);
    assert.equal(hookPatch(withMeta({ annotations: { [MACHINE_HOOK]: 'somebody' } }), 'node-a'), undefined);
  });

  it('the hook is taken away only where it is ours, the label in each case', () => {
    const [ours, theirs] = ['nodemaint', 'somebody'].map((owner) =>
      withMeta({ annotations: { [MACHINE_HOOK]: owner }, labels: { [LABEL]: 'true' } }),
    );
    assert.ok(ours !== undefined && theirs !== undefined);
    assert.deepEqual([hasOwnHook(ours), hasOwnHook(theirs)], [true, false]);
    const labels = { [LABEL]: null };
    const metadata = { resourceVersion: '7', labels };
    assert.deepEqual(unhookPatch(ours), { metadata: { ...metadata, annotations: { [MACHINE_HOOK]: null } } });
    assert.deepEqual(unhookPatch(theirs), { metadata: { ...metadata, annotations: {} } });
    assert.equal(unhookPatch(MACHINE), undefined);
  });

  it('the hook is wanted while a drain is under way, and not for a cordon or a drained node', () => {
    const drained = { type: 'Drained', status: 'True', reason: 'DrainCompleted' } as const;
    const withDrained: Node = { ...NODE, status: { conditions: [drained] } };
    const byOthers: Node = { ...NODE, status: { conditions: [{ ...drained, reason: 'Somebody' }] } };
    assert.equal(wantsMachine([drainOf('d', ['node-a'])], NODE), true);
    assert.equal(wantsMachine([drainOf('d', ['node-a'])], byOthers), true);
    assert.equal(wantsMachine([drainOf('d', ['node-a'])], withDrained), false);
    assert.equal(wantsMachine([drainOf('d', ['node-b'])], NODE), false);
    assert.equal(wantsMachine([drainOf('c', ['node-a'], { stage: 'Cordon' })], NODE), false);
    assert.equal(wantsMachine([], NODE), false);
  });
});

describe('the Machine that a node names', () => {
  it('the Machine is named by two annotations, which must be names', () => {
    assert.deepEqual(machineOf(NODE), { namespace: 'prod', name: 'md-0-x' });
    const named = (name: string): Node => ({
      metadata: { name: 'n', annotations: { ...NODE.metadata.annotations, 'cluster.x-k8s.io/machine': name } },
    });
    for (const name of ['', '..', 'a/b', 'a?x=y', 'A', 'a'.repeat(300)])
      assert.equal(machineOf(named(name)), undefined);
    assert.equal(machineOf({ metadata: { name: 'n' } }), undefined);
  });

  it('the Machine that is being deleted is described with the hooks that it waits for', () => {
    const annotations = {
      'pre-drain.delete.hook.machine.cluster.x-k8s.io/move-data': 'x',
      'pre-terminate.delete.hook.machine.cluster.x-k8s.io/etcd': 'y',
      other: 'z',
    };
    const deletionTimestamp = '2026-01-01T00:00:00Z';
    const sentence = 'Cluster API is deleting the node with its Machine prod/md-0-x';
    assert.equal(describeMachineDeletion(MACHINE, 'node-a'), undefined);
    assert.equal(describeMachineDeletion(withMeta({ deletionTimestamp }), 'node-a'), sentence);
    assert.equal(describeMachineDeletion(withMeta({ deletionTimestamp }), 'node-b'), undefined);
    assert.equal(
      describeMachineDeletion(withMeta({ deletionTimestamp, annotations }), 'node-a'),
      `${sentence}; it waits for the hooks pre-drain.delete.hook.machine.cluster.x-k8s.io/move-data, pre-terminate.delete.hook.machine.cluster.x-k8s.io/etcd`,
    );
  });
});

describe('the version of Cluster API', () => {
  it('the version is the one that the cluster prefers, where it is one', () => {
    const group = (version: unknown): Parameters<typeof machinesOf>[0] => ({
      metadata: { name: '' },
      preferredVersion: { version },
    });
    assert.equal(machinesOf(group('v1beta2'))?.root, '/apis/cluster.x-k8s.io/v1beta2');
    for (const version of [undefined, 7, '../v1', 'v1/x', '']) assert.equal(machinesOf(group(version)), undefined);
    assert.equal(machinesOf(undefined), undefined);
  });
});
