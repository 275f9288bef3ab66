import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createGroupedEvictions } from '../../../../src/controller/eviction/grouped-pods.ts';
import { createEvictionConcurrency } from '../../../../src/kube/eviction/concurrency.ts';
import { DEADLINE_ANNOTATION } from '../../../../src/api/names.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { EvictionRoom } from '../../../../src/controller/eviction/limits.ts';
import { Refusals } from '../../../../src/controller/maintenance/refusals.ts';
import { requesterLoop } from '../../../../src/controller/maintenance/loops.ts';
import type { Changes } from '../../../../src/controller/changes.ts';
import type { Loop } from '../../../../src/kube/loop/loops.ts';
import { createMemoryCluster, type MemoryCluster } from '../../../support/stand-ins/memory-cluster.ts';
import { createEvictionScene, type EvictionScene } from '../../../support/eviction/scene.ts';
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

function loopOf(scene: EvictionScene): Loop<Changes> {
  const { context, clock } = scene;
  const drains = { refused: new Refusals(clock, () => undefined), room: new EvictionRoom(context) };
  return requesterLoop(context, drains, createGroupedEvictions(context, createEvictionConcurrency(clock)));
}

describe('the request that a drain makes', () => {
  it('the request has the labels of its pod from its creation, in one write', async () => {
    const cluster = drainedCluster({ app: 'web', tier: 'a' });
    await using _ = cluster.lead();
    await waitFor('the request begins', () => isActive(cluster), QUICK);
    assert.deepEqual(cluster.get('Request', 'n/u')?.metadata.labels, { app: 'web', tier: 'a', ...NODE_LABEL });
    const found = cluster.requests
      .filter(({ path }) => path.endsWith('/evictionrequests/u'))
      .map(({ method, patch }) => [method, patch?.kind === 'apply' ? patch.manager : patch]);
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

describe('a request of a drain against which somebody acts', () => {
  it('the entry that somebody takes out is written again with a pause that doubles, and the pod says who does what', async () => {
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

  it('the request that somebody deletes is made again with a pause that doubles, and the pod says who does what', async () => {
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
  const later = (changes: Partial<Pod['metadata']>): Pod => {
    const { metadata, spec } = podOf({});
    return { metadata: { ...metadata, creationTimestamp: '2999-01-01T00:00:00Z', ...changes }, spec };
  };

  /** What these looks at the pod's request write and read of maintenances, and when the last one looks again, where the copies have no request. */
  const looksWhere = async (
    pod?: Pod,
    { isOver = false, looks = 1, annotations = {} }: { isOver?: boolean; looks?: number; annotations?: object } = {},
  ): Promise<unknown> => {
    const scene = createEvictionScene();
    scene.drain([{ podType: 'Default', podPriority: 0 }]);
    const drain = scene.maintenances.get('m') ?? assert.fail();
    scene.maintenances.set('m', { ...drain, metadata: { ...drain.metadata, ...annotations } });
    if (pod !== undefined) scene.pods.set('n/web', { ...pod, spec: { ...pod.spec, nodeName: 'n' } });
    scene.read = () => (isOver ? [] : [...scene.maintenances.values()]);
    scene.evictionAnswer = () => ({ status: 429, body: { message: 'not now' } });
    const { reconcile } = loopOf(scene);
    let again: { readonly againMs?: number } = {};
    for (let at = 0; at < looks; at += 1) {
      scene.clock.pass(again.againMs ?? 0);
      again = await reconcile('n/u', new AbortController().signal);
    }
    return { sent: scene.sent.length, reads: scene.reads, againMs: again.againMs };
  };

  it('the first request of a node goes before the others of all nodes', () => {
    const scene = createEvictionScene();
    scene.drain([{ podType: 'Default', podPriority: 0 }]);
    for (const uid of ['u', 'v'])
      scene.pods.set(`n/${uid}`, { ...later({ uid, name: uid }), spec: { nodeName: 'n', priority: 0 } });
    const { concerns, order } = loopOf(scene);
    const keys = [...(concerns.Node?.({ name: 'n', maintenances: [], isOtherForRequests: true }) ?? [])].map(String);
    assert.deepEqual(
      keys.map((key) => order?.isUrgent?.(key)),
      [true, false],
    );
  });

  it('no request is made for a pod that is gone, nor for another pod that has its name', async () => {
    for (const pod of [undefined, later({ uid: 'v' })])
      assert.deepEqual(await looksWhere(pod), { sent: 0, reads: 0, againMs: undefined });
  });

  it('a request that was made is looked for again: deleted while the watch is away, it is in none of its lists', async () => {
    assert.deepEqual(await looksWhere(podOf({})), { sent: 1, reads: 0, againMs: 15_000 });
  });

  it('a pod that has come since the drain began is not asked for by a copy of a maintenance that is over', async () => {
    assert.deepEqual(await looksWhere(later({})), { sent: 1, reads: 1, againMs: 15_000 });
    assert.deepEqual(await looksWhere(later({}), { isOver: true }), { sent: 0, reads: 1, againMs: 1_000 });
  });

  it('nothing is read for such a pod that ends already: no request is made for it', async () => {
    const ending = later({ deletionTimestamp: '2999-01-01T00:00:01Z' });
    assert.deepEqual(await looksWhere(ending), { sent: 0, reads: 0, againMs: undefined });
  });

  it('such a pod of a group is judged by what was read before its first attempt, and not again at each attempt', async () => {
    const { metadata, spec } = later({});
    const member = { metadata, spec: { ...spec, schedulingGroup: { podGroupName: 'g' } } };
    assert.deepEqual(await looksWhere(member, { isOver: true, looks: 2 }), { sent: 0, reads: 2, againMs: 1_000 });
    assert.deepEqual(await looksWhere(member, { looks: 4 }), { sent: 4, reads: 1, againMs: 8_000 });
  });

  it('a pod that ends is looked at again only where a deadline may give it less time', async () => {
    const ending = later({ creationTimestamp: '1970-01-01T00:00:00Z', deletionTimestamp: '2999-01-01T00:00:01Z' });
    assert.deepEqual(await looksWhere(ending), { sent: 0, reads: 0, againMs: undefined });
    const annotations = { annotations: { [DEADLINE_ANNOTATION]: '2999-01-01T00:00:00Z' } };
    assert.deepEqual(await looksWhere(ending, { annotations }), { sent: 0, reads: 0, againMs: 15_000 });
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
