import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { EvictionRequest } from '../../../../src/api/eviction-request.ts';
import { MAINTENANCE_REQUESTER } from '../../../../src/api/names.ts';
import { withdrawEntry } from '../../../../src/kube/eviction/requester-entry.ts';
import { createMemoryCluster } from '../../../support/stand-ins/memory-cluster.ts';

const SIGNAL = new AbortController().signal;
const OTHER = 'descheduler.sigs.k8s.io';

it('the entry is not withdrawn from a request that somebody has joined since it was read', async () => {
  const cluster = createMemoryCluster();
  const requestOf = (...names: readonly string[]): EvictionRequest => ({
    metadata: { name: 'u', namespace: 'n' },
    spec: { target: { pod: { name: 'web', uid: 'u' } }, requesters: names.map((name) => ({ name })) },
  });
  const requesters = (): readonly string[] | undefined =>
    cluster.get('Request', 'n/u')?.spec.requesters?.map(({ name }) => name);
  cluster.put('Request', requestOf(MAINTENANCE_REQUESTER));
  const read = cluster.get('Request', 'n/u') ?? assert.fail('the request is gone');
  cluster.put('Request', requestOf(MAINTENANCE_REQUESTER, OTHER));
  assert.equal(await withdrawEntry(cluster.context.client, read, SIGNAL), false);
  assert.deepEqual(requesters(), [MAINTENANCE_REQUESTER, OTHER]);
  const joined = cluster.get('Request', 'n/u') ?? assert.fail('the request is gone');
  assert.equal(await withdrawEntry(cluster.context.client, joined, SIGNAL), true);
  assert.deepEqual(requesters(), [OTHER]);
  assert.equal(cluster.get('Request', 'n/u')?.metadata.labels, undefined, 'it gets no label that it did not have');
});
