import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createGroupedEvictions } from '../../../../src/controller/eviction/grouped-pods.ts';
import { createEvictionConcurrency } from '../../../../src/kube/eviction/concurrency.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import type { KubeClient } from '../../../../src/kube/client.ts';
import { EvictionRoom } from '../../../../src/controller/eviction/room.ts';
import { createRefusals } from '../../../../src/controller/maintenance/refusals.ts';
import { createRequestReconciler } from '../../../../src/controller/maintenance/requests.ts';
import { createMemoryCluster, type MemoryCluster } from '../../../support/stand-ins/memory-cluster.ts';
import { createEvictionScene } from '../../../support/eviction/scene.ts';
import { drainOf } from '../../../support/maintenance/objects.ts';
import { waitFor } from '../../../support/wait-for.ts';

const QUICK = { timeoutMs: 6_000 };
const NODE_LABEL = { 'nodemaintenance.x-k8s.io/node': 'one', 'nodemaintenance.x-k8s.io/maintenance-uid': 'uid-of-m' };

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

const blockingIn = (cluster: MemoryCluster): string =>
  JSON.stringify(cluster.get('Maintenance', 'm')?.status?.nodeStatuses?.[0]?.podsBlocking ?? []);

describe('the request that a drain makes', () => {
  it('the request has the labels of its pod from its creation, in one write', async () => {
    const cluster = drainedCluster({ app: 'web', tier: 'a' });
    await using _ = cluster.lead();
    await waitFor('the request begins', () => isActive(cluster), QUICK);
    assert.deepEqual(cluster.get('Request', 'n/u')?.metadata.labels, { app: 'web', tier: 'a', ...NODE_LABEL });
    const writes = cluster.requests.filter(({ path }) => path.endsWith('/evictionrequests/u'));
    const found = writes.map(({ method, patch }) => [method, patch?.kind === 'apply' ? patch.manager : patch]);
    assert.deepEqual(found, [['PATCH', 'nodemaintenance.k8s.io']]);
  });

  it('the request loses a label that its pod loses, and keeps a label of its own', async () => {
    const cluster = drainedCluster({ app: 'web', tier: 'a' });
    await using _ = cluster.lead();
    await waitFor('the request begins', () => isActive(cluster), QUICK);
    const made = cluster.get('Request', 'n/u') ?? assert.fail();
    cluster.put('Request', { ...made, metadata: { ...made.metadata, labels: { ...made.metadata.labels, own: 'x' } } });
    cluster.put('Pod', podOf({ app: 'web' }));
    const labels = (): object => cluster.get('Request', 'n/u')?.metadata.labels ?? {};
    await waitFor('the label goes', () => !('tier' in labels()), QUICK);
    assert.deepEqual(labels(), { app: 'web', own: 'x', ...NODE_LABEL });
  });
});

describe('an entry of a drain that somebody takes out of a request', () => {
  it('the entry is written again with a pause that doubles, and the pod says who does what', async () => {
    const cluster = drainedCluster({ app: 'web' });
    await using _ = cluster.lead();
    const withdraw = async (): Promise<void> => {
      await waitFor('the request is asked for', () => isActive(cluster), QUICK);
      const made = cluster.get('Request', 'n/u') ?? assert.fail();
      const { status: _, ...rest } = { ...made, spec: { ...made.spec, requesters: [] } };
      cluster.put('Request', rest);
      await waitFor('it is taken out', () => cluster.get('Request', 'n/u')?.spec.requesters?.length !== 1, QUICK);
    };
    const creations = (): number =>
      cluster.requests.filter(({ method, path }) => method === 'PATCH' && path.endsWith('/evictionrequests/u')).length;
    for (let times = 0; times < 3; times += 1) await withdraw();
    await waitFor(
      'the pod says it',
      () => blockingIn(cluster).includes('takes the entry nodemaintenance.k8s.io'),
      QUICK,
    );
    const before = creations();
    await waitFor('the entry is back', () => isActive(cluster), QUICK);
    assert.ok(creations() - before <= 2, 'it is written once, and not as fast as it is taken out');
  });
});

describe('a request of a drain that somebody deletes', () => {
  it('the request is made again with a pause that doubles, and the pod says who does what', async () => {
    const cluster = drainedCluster({ app: 'web' });
    await using _ = cluster.lead();
    const begunAt = performance.now();
    for (let times = 0; times < 4; times += 1) {
      await waitFor('it is asked for', () => isActive(cluster), QUICK);
      cluster.remove('Request', 'n/u');
    }
    await waitFor('the pod says it', () => blockingIn(cluster).includes('somebody deletes it'), QUICK);
    assert.ok(performance.now() - begunAt > 3_000, 'it waits one second, one more, and then two');
  });
});

describe('the pod of a request that a drain wants', () => {
  /** What the step of its request writes, and when it looks again, where the copies have this pod and no request. */
  const stepWhere = async (pod?: Pod, isOver = false): Promise<unknown> => {
    const scene = createEvictionScene();
    scene.drain([{ podType: 'Default', podPriority: 0 }]);
    if (pod !== undefined) scene.pods.set('n/web', { ...pod, spec: { ...pod.spec, nodeName: 'n' } });
    const refusals = createRefusals(scene.clock, () => undefined);
    const items = isOver ? [] : [scene.maintenances.get('m')];
    const read: KubeClient['send'] = async (request, signal) =>
      request.method === 'GET'
        ? { status: 200, headers: {}, body: { metadata: { resourceVersion: '1' }, items } }
        : await scene.context.client.send(request, signal);
    const context = { ...scene.context, client: { ...scene.context.client, send: read } };
    const reconcile = createRequestReconciler(context, {
      refused: refusals,
      room: new EvictionRoom(scene.context),
      grouped: createGroupedEvictions(scene.context, createEvictionConcurrency(scene.clock)),
    });
    const { againMs } = await reconcile('n/u', new AbortController().signal);
    return { sent: scene.sent.length, againMs };
  };

  it('no request is made for a pod that is gone, nor for another pod that has its name', async () => {
    const other = podOf({});
    const namesake = { ...other, metadata: { ...other.metadata, uid: 'v' } };
    for (const pod of [undefined, namesake]) assert.deepEqual(await stepWhere(pod), { sent: 0, againMs: undefined });
  });

  it('a request that was made is looked for again: deleted while the watch is away, it is in none of its lists', async () => {
    assert.deepEqual(await stepWhere(podOf({})), { sent: 1, againMs: 15_000 });
  });

  it('a pod that has come since the drain began is not asked for by a copy of a maintenance that is over', async () => {
    const web = podOf({});
    const late = { ...web, metadata: { ...web.metadata, creationTimestamp: '2999-01-01T00:00:00Z' } };
    assert.deepEqual(await stepWhere(late), { sent: 1, againMs: 15_000 });
    assert.deepEqual(await stepWhere(late, true), { sent: 0, againMs: 1_000 });
  });
});

describe('the requests of a maintenance that is complete', () => {
  it('the requests of a maintenance that is complete are deleted, but for one that another one has joined', async () => {
    const cluster = createMemoryCluster();
    cluster.answer = ({ path }) => {
      const [, name] = /\/pods\/([^/]+)\/eviction$/.exec(path) ?? [];
      const pod = cluster.get('Pod', `n/${name}`);
      if (pod === undefined) return undefined;
      // The pod ends, and takes its time.
      const ending = { deletionTimestamp: new Date().toISOString(), finalizers: ['x.example.com/x'] };
      cluster.put('Pod', { ...pod, metadata: { ...pod.metadata, ...ending } });
      return { status: 201, message: '' };
    };
    cluster.put('Node', { metadata: { name: 'one' } });
    const names = ['a', 'b', 'c'];
    for (const name of names) {
      const metadata = { name, namespace: 'n', uid: `u-${name}` };
      cluster.put('Pod', { metadata, spec: { nodeName: 'one', priority: 0 } } as Pod);
    }
    cluster.put('Maintenance', drainOf('m', ['one']));
    await using _ = cluster.lead();
    const has = (type: string): boolean =>
      names.every((name) =>
        cluster.get('Request', `n/u-${name}`)?.status?.conditions?.some((each) => each.type === type),
      );
    await waitFor('all begin', () => has('Progressing'), QUICK);
    for (const name of names) cluster.remove('Pod', `n/${name}`);
    await waitFor('all end', () => has('Evicted'), QUICK);
    const joined = cluster.get('Request', 'n/u-b') ?? assert.fail();
    const requesters = [...(joined.spec.requesters ?? []), { name: 'other.example.com' }];
    cluster.put('Request', { ...joined, spec: { ...joined.spec, requesters } } as never);
    const maintenance = cluster.get('Maintenance', 'm') ?? assert.fail();
    cluster.put('Maintenance', { ...maintenance, spec: { ...maintenance.spec, stage: 'Complete' } } as never);
    const isOver = (): boolean => (cluster.get('Maintenance', 'm')?.metadata.finalizers ?? []).length === 0;
    await waitFor('everything is given back', isOver, QUICK);
    const left = names.filter((name) => cluster.get('Request', `n/u-${name}`) !== undefined);
    assert.deepEqual(left, ['b']);
  });
});
