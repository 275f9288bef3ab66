import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node } from '../../../../src/api/pod.ts';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import { createMemoryCluster, type MemoryCluster } from '../../../support/stand-ins/memory-cluster.ts';
import { drainOf } from '../../../support/maintenance/objects.ts';
import { waitFor } from '../../../support/wait-for.ts';

const QUICK = { timeoutMs: 3_000 };

function isCordoned(cluster: MemoryCluster): boolean {
  return cluster.get('Node', 'one')?.spec?.unschedulable === true;
}

/** What another program does to the node, which leaves our annotation there. */
function uncordon(cluster: MemoryCluster): void {
  const node = cluster.get('Node', 'one') ?? assert.fail();
  cluster.put('Node', { ...node, spec: {} } as Node);
}

describe('the cordon of a node under maintenance', () => {
  it('the controller cordons a node again at once, and waits before it does so another time', async () => {
    const cluster = createMemoryCluster();
    cluster.put('Node', { metadata: { name: 'one' } });
    cluster.put('Maintenance', drainOf('m', ['one']));
    await using _ = cluster.lead();
    await waitFor('the cordon', () => isCordoned(cluster), QUICK);
    uncordon(cluster);
    await waitFor('the second cordon', () => isCordoned(cluster), QUICK);
    uncordon(cluster);
    const since = performance.now();
    await waitFor('the third cordon', () => isCordoned(cluster), QUICK);
    assert.ok(performance.now() - since > 500, 'it comes after a pause');
    assert.equal(cluster.events.filter(({ reason }) => reason === 'CordonReverted').length, 2);
  });

  it('a node that was cordoned by somebody else stays so after the maintenance, and an Event names it', async () => {
    const cluster = createMemoryCluster();
    cluster.put('Node', { metadata: { name: 'one' }, spec: { unschedulable: true } } as Node);
    cluster.put('Node', { metadata: { name: 'two' } });
    cluster.put('Maintenance', drainOf('m', ['one', 'two']));
    await using _ = cluster.lead();
    await waitFor('the cordon', () => cluster.get('Node', 'two')?.spec?.unschedulable === true, QUICK);
    const maintenance = cluster.get('Maintenance', 'm') ?? assert.fail();
    cluster.put('Maintenance', { ...maintenance, spec: { ...maintenance.spec, stage: 'Complete' } } as NodeMaintenance);
    const kept = (): string => cluster.events.find(({ reason }) => reason === 'CordonKept')?.message ?? '';
    await waitFor('the Event', () => kept() !== '', QUICK);
    assert.match(kept(), /^Unschedulable after the maintenance, because it did not cordon them: one\./);
    assert.ok(isCordoned(cluster));
  });
});
