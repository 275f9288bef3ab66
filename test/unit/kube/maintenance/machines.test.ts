import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node } from '../../../../src/api/pod.ts';
import { machineOf, machinesOf } from '../../../../src/kube/maintenance/machines.ts';

const NODE: Node = {
  metadata: {
    name: 'node-a',
    annotations: { 'cluster.x-k8s.io/machine': 'md-0-x', 'cluster.x-k8s.io/cluster-namespace': 'prod' },
  },
};

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
