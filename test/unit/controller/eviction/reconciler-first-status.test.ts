import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequestStatus } from '../../../../src/api/eviction-request.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import type { KubeRequest } from '../../../../src/kube/client.ts';
import { drainOf } from '../../../support/maintenance/objects.ts';
import { createMemoryCluster, type MemoryCluster } from '../../../support/stand-ins/memory-cluster.ts';
import { waitFor } from '../../../support/wait-for.ts';

const QUICK = { timeoutMs: 5_000 };
const ONLY = 'imperative-eviction.k8s.io';
const KEY = 'n/u';

type Answer = { readonly status: number; readonly message: string };

/** A cluster with a drain of its only node, which has one pod; `evict` answers the Eviction API. */
function clusterOf(evict: (cluster: MemoryCluster) => Answer, annotations = {}): MemoryCluster {
  const cluster = createMemoryCluster();
  cluster.answer = ({ path }) => (path.endsWith('/eviction') ? evict(cluster) : undefined);
  cluster.put('Node', { metadata: { name: 'one' } });
  const metadata = { name: 'web', namespace: 'n', uid: 'u', annotations };
  cluster.put('Pod', { metadata, spec: { nodeName: 'one', priority: 0 } } as Pod);
  cluster.put('Maintenance', drainOf('m', ['one']));
  return cluster;
}

const gone = (cluster: MemoryCluster): Answer => {
  cluster.remove('Pod', 'n/web');
  return { status: 201, message: '' };
};
/** The pod ends, and takes its time. */
const accepted = (cluster: MemoryCluster): Answer => {
  const pod = cluster.get('Pod', 'n/web') ?? assert.fail();
  const metadata = { ...pod.metadata, deletionTimestamp: new Date().toISOString(), finalizers: ['x.example.com/x'] };
  cluster.put('Pod', { ...pod, metadata });
  return { status: 201, message: '' };
};
const blocked = (): Answer => ({ status: 429, message: 'Cannot evict pod as it would violate the disruption budget.' });

const statusOf = (cluster: MemoryCluster): EvictionRequestStatus | undefined => cluster.get('Request', KEY)?.status;
const isEnd = (cluster: MemoryCluster, type: string): boolean =>
  statusOf(cluster)?.conditions?.some((each) => each.type === type && each.status === 'True') === true;
const isStatusWrite = ({ path }: KubeRequest): boolean => path.endsWith('/evictionrequests/u/status');
const statusWrites = (cluster: MemoryCluster): readonly KubeRequest[] => cluster.requests.filter(isStatusWrite);

describe('the first status of a request', () => {
  it('the first status is written before the Eviction API is asked, also where the pod is gone at once', async () => {
    const cluster = clusterOf((own) => {
      assert.deepEqual(statusOf(own)?.activeInterceptors, [ONLY]);
      return gone(own);
    });
    await using _ = cluster.lead();
    await waitFor('the end', () => isEnd(cluster, 'Evicted'), QUICK);
    assert.ok(
      cluster.requests.findIndex(isStatusWrite) < cluster.requests.findIndex(({ path }) => path.endsWith('/eviction')),
    );
    const { targetInterceptors, activeInterceptors, processedInterceptors, interceptors } = statusOf(cluster) ?? {};
    assert.deepEqual([targetInterceptors, activeInterceptors, processedInterceptors], [[{ name: ONLY }], [], [ONLY]]);
    assert.deepEqual(interceptors, [{ name: ONLY, message: '' }]);
  });

  it('the first status is followed by nothing but the end while a pod ends as planned', async () => {
    const cluster = clusterOf(accepted);
    await using _ = cluster.lead();
    await waitFor('the eviction', () => cluster.requests.some(({ path }) => path.endsWith('/eviction')), QUICK);
    cluster.remove('Pod', 'n/web');
    await waitFor('the end', () => isEnd(cluster, 'Evicted'), QUICK);
    assert.equal(statusWrites(cluster).length, 2);
  });

  it('the first status comes before the report of the Eviction API that a pod is blocked', async () => {
    const cluster = clusterOf(blocked);
    await using _ = cluster.lead();
    const saysWhy = (): boolean => (statusOf(cluster)?.interceptors?.[0]?.message ?? '') !== '';
    await waitFor('the report', saysWhy, QUICK);
    const [first, report] = statusWrites(cluster);
    assert.deepEqual([first?.patch?.kind, report?.patch?.kind], ['merge', 'apply']);
    assert.deepEqual(statusOf(cluster)?.activeInterceptors, [ONLY]);
  });

  it('the first status is written at once where the pod has another interceptor', async () => {
    const name = 'interceptor.evictionrequest.coordination.k8s.io/priority_mine.example.com';
    const cluster = clusterOf(gone, { [name]: '10000/controller' });
    await using _ = cluster.lead();
    await waitFor('the first status', () => statusOf(cluster)?.activeInterceptors?.[0] === 'mine.example.com', QUICK);
    assert.ok(!cluster.requests.some(({ path }) => path.endsWith('/eviction')));
  });

  it('the end keeps a condition that somebody else has written', async () => {
    const lastTransitionTime = '2026-01-01T00:00:00Z';
    const strange = { type: 'Strange', status: 'True', reason: 'R', message: '', lastTransitionTime };
    const cluster = clusterOf((own) => {
      const made = own.get('Request', KEY) ?? assert.fail();
      const conditions = [...(made.status?.conditions ?? []), strange];
      own.put('Request', { ...made, status: { ...made.status, conditions } } as typeof made);
      return gone(own);
    });
    await using _ = cluster.lead();
    await waitFor('the end', () => isEnd(cluster, 'Evicted'), QUICK);
    const types = statusOf(cluster)?.conditions?.map(({ type }) => type);
    assert.deepEqual(types?.toSorted(), ['Evicted', 'Progressing', 'Strange']);
    assert.deepEqual(statusOf(cluster)?.processedInterceptors, [ONLY]);
    // The controller has no right to read single requests.
    const isRead = ({ method, path }: KubeRequest): boolean => method === 'GET' && path.includes('/evictionrequests/');
    assert.equal(cluster.requests.some(isRead), false);
  });

  it('a request of a drain whose pod is gone before the first status is evicted: the pod was there', async () => {
    const cluster = clusterOf(accepted);
    cluster.answer = (request) => (isStatusWrite(request) ? { status: 500, message: 'away' } : undefined);
    {
      await using _ = cluster.lead();
      await waitFor('the request', () => cluster.get('Request', KEY) !== undefined, QUICK);
    }
    cluster.remove('Pod', 'n/web');
    cluster.answer = () => undefined;
    await using _ = cluster.lead();
    await waitFor('the end', () => isEnd(cluster, 'Evicted'), QUICK);
    assert.ok(!isEnd(cluster, 'Canceled'));
  });
});
