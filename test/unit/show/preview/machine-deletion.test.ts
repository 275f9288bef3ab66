import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Machine } from '../../../../src/api/machine.ts';
import { describeMachineDeletion } from '../../../../src/show/preview/machine-deletion.ts';

const MACHINE: Machine = {
  metadata: { name: 'md-0-x', namespace: 'prod' },
  status: { nodeRef: { name: 'node-a' } },
};

function withMeta(metadata: Partial<Machine['metadata']>): Machine {
  return { ...MACHINE, metadata: { ...MACHINE.metadata, ...metadata } };
}

describe('the deletion of a Machine', () => {
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
