import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CORDONED_ANNOTATION, MAINTENANCE_REQUESTER } from '../../../../src/api/names.ts';
import type { Node, NodeCondition, Pod } from '../../../../src/api/pod.ts';
import { giveEverythingBack } from '../../../../src/cli/uninstall/revert.ts';
import { createMemoryCluster } from '../../../support/stand-ins/memory-cluster.ts';

const OTHER = 'descheduler.sigs.k8s.io';

function conditions(reason: string): readonly NodeCondition[] {
  return [{ type: 'MaintenanceInProgress', status: 'True', reason, message: '' }];
}

describe('the end of the product in a cluster', () => {
  it('uninstall-cluster takes back what maintenances that are gone have left, and nothing of others', async () => {
    const cluster = createMemoryCluster();
    const ours: Node = {
      metadata: { name: 'ours', annotations: { [CORDONED_ANNOTATION]: 'gone' } },
      spec: { unschedulable: true },
      status: { conditions: conditions('NodeMaintenance') },
    };
    const theirs: Node = {
      metadata: { name: 'theirs' },
      spec: { unschedulable: true },
      status: { conditions: conditions('AdminRequested') },
    };
    cluster.put('Node', ours);
    cluster.put('Node', theirs);
    for (const [pod, names] of Object.entries({
      alone: [MAINTENANCE_REQUESTER],
      shared: [OTHER, MAINTENANCE_REQUESTER],
      other: [OTHER],
    })) {
      const requesters = names.map((name) => ({ name }));
      cluster.put('Request', {
        metadata: { name: pod, namespace: 'n' },
        spec: { target: { pod: { name: pod, uid: pod } }, requesters },
      } as object as Pod);
    }
    const mark = { 'kubernetes.io/pod-evict-wanted': 'true' };
    const policy = { 'coordination.x-k8s.io/evict-policy': 'ControllerTakeOver' };
    const podOf = (name: string, annotations: object): Pod =>
      ({ metadata: { name, namespace: 'n', annotations }, spec: {} }) as Pod;
    cluster.put('Pod', podOf('marked', { ...policy, ...mark }));
    cluster.put('Pod', podOf('foreign', mark));
    const said: string[] = [];
    const { client, clock } = cluster.context;
    const signal = AbortSignal.timeout(10_000);
    await giveEverythingBack({ client, clock, say: (text) => said.push(text) }, signal);
    assert.deepEqual(said, [
      'Node ours is uncordoned.',
      'The conditions of node ours are cleared.',
      'EvictionRequest n/alone is deleted.',
      'EvictionRequest n/shared is withdrawn from.',
      'Pod n/marked has no mark for its controller any more.',
    ]);
    const node = cluster.get('Node', 'ours');
    assert.deepEqual([node?.spec?.unschedulable, node?.metadata.annotations], [undefined, undefined]);
    assert.equal(node?.status?.conditions?.[0]?.status, 'False');
    const left = cluster.get('Node', 'theirs');
    assert.deepEqual([left?.spec?.unschedulable, left?.status?.conditions], [true, theirs.status?.conditions]);
    assert.equal(cluster.get('Request', 'n/alone'), undefined);
    assert.deepEqual(cluster.get('Request', 'n/shared')?.spec.requesters, [{ name: OTHER }]);
    assert.deepEqual(cluster.get('Request', 'n/other')?.spec.requesters, [{ name: OTHER }]);
  });
});
