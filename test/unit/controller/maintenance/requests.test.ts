import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../../src/api/pod.ts';
import { createMemoryCluster, type MemoryCluster } from '../../../support/stand-ins/memory-cluster.ts';
import { drainOf } from '../../../support/maintenance/objects.ts';
import { waitFor } from '../../../support/wait-for.ts';

const QUICK = { timeoutMs: 3_000 };
const NODE_LABEL = { 'nodemaintenance.x-k8s.io/node': 'one' };

function podOf(labels: Readonly<Record<string, string>>): Pod {
  return { metadata: { name: 'web', namespace: 'n', uid: 'u', labels }, spec: { nodeName: 'one', priority: 0 } };
}

/** A cluster whose eviction API leaves pods as they are, with a drain of the only node and its pod. */
function drainedCluster(labels: Readonly<Record<string, string>>): MemoryCluster {
  const cluster = createMemoryCluster();
  cluster.answer = ({ path }) =>
    path.endsWith('/eviction') ? { status: 429, message: 'disruption budget' } : undefined;
  cluster.put('Node', { metadata: { name: 'one' } });
  cluster.put('Pod', podOf(labels));
  cluster.put('Maintenance', drainOf('m', ['one']));
  return cluster;
}

const isActive = (cluster: MemoryCluster): boolean =>
  cluster.get('Request', 'n/u')?.status?.activeInterceptors?.length === 1;

describe('the request that a drain makes', () => {
  it('the request has the labels of its pod from its creation, in one write', async () => {
    const cluster = drainedCluster({ app: 'web', tier: 'a' });
    await using _ = cluster.lead();
    await waitFor('the request begins', () => isActive(cluster), QUICK);
    assert.deepEqual(cluster.get('Request', 'n/u')?.metadata.labels, { app: 'web', tier: 'a', ...NODE_LABEL });
    const writes = cluster.requests.filter(({ path }) => path.endsWith('/evictionrequests/u'));
    assert.deepEqual(
      writes.map(({ method, patch }) => [method, patch?.kind === 'apply' ? patch.manager : patch]),
      [['PATCH', 'nodemaintenance.k8s.io']],
    );
  });

  it('the request loses a label that its pod loses, and keeps a label of its own', async () => {
    const cluster = drainedCluster({ app: 'web', tier: 'a' });
    await using _ = cluster.lead();
    await waitFor('the request begins', () => isActive(cluster), QUICK);
    const made = cluster.get('Request', 'n/u');
    assert.ok(made !== undefined);
    cluster.put('Request', { ...made, metadata: { ...made.metadata, labels: { ...made.metadata.labels, own: 'x' } } });
    cluster.put('Pod', podOf({ app: 'web' }));
    const labels = (): object => cluster.get('Request', 'n/u')?.metadata.labels ?? {};
    await waitFor('the label goes', () => !('tier' in labels()), QUICK);
    assert.deepEqual(labels(), { app: 'web', own: 'x', ...NODE_LABEL });
  });
});
