import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createGroupedEvictions } from '../../../src/controller/eviction/grouped-pods.ts';
import { createEvictionConcurrency } from '../../../src/kube/eviction/concurrency.ts';
import type { EvictionRequest, EvictionRequestStatus } from '../../../src/api/eviction-request.ts';
import { MAINTENANCE_REQUESTER } from '../../../src/api/names.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { createDaemonSetGate } from '../../../src/controller/daemon-set/gate.ts';
import { createDaemonSetInterceptor } from '../../../src/controller/daemon-set/interceptor.ts';
import { createImperativeEviction } from '../../../src/controller/eviction/imperative.ts';
import { createEvictionRequestReconciler } from '../../../src/controller/eviction/reconciler.ts';
import { requestKeyOf } from '../../../src/controller/cache/pods.ts';
import { EvictionRoom } from '../../../src/controller/eviction/limits.ts';
import { Refusals } from '../../../src/controller/maintenance/refusals.ts';
import { DrainRequests } from '../../../src/controller/maintenance/requests.ts';
import { podFor } from '../../support/daemon-set-pods.ts';
import { createEvictionScene, type EvictionScene } from '../../support/eviction/scene.ts';

const IMPERATIVE = 'imperative-eviction.k8s.io';
const DAEMON_SET = 'daemonset.apps.k8s.io';
const TIME = '2026-01-01T00:00:00Z';

const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd', controller: true };

function pod(metadata: object = {}): Pod {
  return { metadata: { name: 'web', namespace: 'default', uid: 'u', ...metadata }, spec: { nodeName: 'n' } };
}

function request(names: readonly string[], index: number, metadata: object = {}): EvictionRequest {
  const active = names[index];
  return {
    metadata: { name: 'u', namespace: 'default', uid: 'r', creationTimestamp: TIME, ...metadata },
    spec: { target: { pod: { name: 'web', uid: 'u' } }, requesters: [{ name: 'x.example.com' }] },
    status: {
      targetInterceptors: names.map((name) => ({ name })),
      activeInterceptors: active === undefined ? [] : [active],
      processedInterceptors: names.slice(0, index),
      interceptors: names.map((name) => ({ name, message: '' })),
    },
  };
}

const canceled: EvictionRequestStatus = {
  conditions: [{ type: 'Canceled', status: 'True', reason: 'x', message: '', lastTransitionTime: TIME }],
};
const held = { deletionTimestamp: TIME, finalizers: ['x.example.com/hold'] };
const ALL = [
  { podType: 'Default', podPriority: 2_147_483_647 },
  { podType: 'DaemonSet', podPriority: 2_147_483_647 },
] as const;

describe('a drain whose pod has a spent request', () => {
  it('a drain deletes a DaemonSet pod whose request has passed the DaemonSet interceptor by, and only a drain does', async () => {
    const scene = createEvictionScene();
    const key = scene.put(request([DAEMON_SET, IMPERATIVE], 1), pod({ ownerReferences: [owner] }));
    const step = scene.loop(createDaemonSetInterceptor(scene.context));
    await step(key);
    assert.deepEqual(scene.calls(), [], 'no drain targets it');
    scene.drain(ALL);
    await step(key);
    assert.deepEqual(scene.calls(), ['DELETE pods/web'], 'nothing is reported, for its entry is closed');
  });

  it('a drain leaves the DaemonSet pod of a node alone that has just left its selector', async () => {
    const scene = createEvictionScene();
    const put = (resourceVersion: string): string =>
      scene.put(request([DAEMON_SET], 0), pod({ ownerReferences: [owner], resourceVersion }));
    const step = scene.loop(createDaemonSetInterceptor(scene.context));
    scene.drain(ALL);
    const drain = scene.maintenances.get('m') ?? assert.fail();
    const term = { matchExpressions: [{ key: 'drain', operator: 'Exists' as const }] };
    scene.maintenances.set('m', { ...drain, spec: { ...drain.spec, nodeSelector: { nodeSelectorTerms: [term] } } });
    await step(put('1'));
    assert.deepEqual(scene.calls(), []);
    scene.nodes.set('n', { metadata: { name: 'n', labels: { drain: '' } } });
    for (const version of ['2', '3', '4']) await step(put(version));
    const deletions = scene.calls().filter((call) => call.startsWith('DELETE'));
    assert.deepEqual(deletions, ['DELETE pods/web'], 'once, whatever else copies show before its end');
  });

  it('the gate does not delete a pod that was deleted while the maintenances were read', async () => {
    const scene = createEvictionScene();
    scene.drain(ALL);
    scene.pods.set('default/web', podFor('n'));
    scene.read = () => {
      scene.context.ungated.removed(podFor('n'));
      return [...scene.maintenances.values()];
    };
    await createDaemonSetGate(scene.context).reconcile('default/web', AbortSignal.timeout(10_000));
    assert.deepEqual([scene.reads, scene.calls()], [1, []]);
  });

  it('a drain evicts a pod whose request is canceled and held by a finalizer, with the pauses of a budget', async () => {
    const scene = createEvictionScene();
    const key = scene.put({ ...request([], 0, held), status: canceled }, pod());
    scene.drain(ALL);
    scene.evictionAnswer = () => ({ status: 429, body: { message: 'Cannot evict: disruption budget' } });
    const step = scene.loop(createImperativeEviction(scene.context));
    const first = await step(key);
    await step(key);
    assert.deepEqual(scene.calls(), ['POST web/eviction'], 'an event of the request is no reason to ask again');
    scene.clock.pass(first.againMs ?? 0);
    await step(key);
    assert.equal(scene.calls().length, 2);
  });
});

describe('the interceptor of DaemonSet pods', () => {
  it('the interceptor passes on an ordinary pod that names it, past whose budget it would delete the pod', async () => {
    const scene = createEvictionScene();
    const key = scene.put(request([DAEMON_SET, IMPERATIVE], 0), pod());
    scene.drain(ALL);
    await scene.loop(createDaemonSetInterceptor(scene.context))(key);
    assert.deepEqual(scene.calls(), ['PATCH u/status']);
    const said = JSON.stringify(scene.sent[0]?.body);
    assert.match(said, /"message":"Pod web belongs to no DaemonSet\.".*"completionTime"/);
  });
});

describe('a request that is deleted and held by a finalizer', () => {
  it('a held request is canceled, is not deleted again, and its interceptor does not go on', async () => {
    const scene = createEvictionScene();
    const key = scene.put(request([IMPERATIVE], 0, held), pod());
    const signal = AbortSignal.timeout(10_000);
    await scene.loop(createImperativeEviction(scene.context))(key);
    assert.deepEqual(scene.calls(), [], 'who deletes a request calls the eviction off');
    const other = createEvictionScene();
    const spec = { nodeName: 'n', evictionInterceptors: [{ name: 'a.example.com' }] };
    const heldKey = other.put(request([IMPERATIVE], 0, held), { ...pod(), spec });
    other.drain(ALL);
    const step = other.loop(createImperativeEviction(other.context));
    for (let waitedMs = 0; waitedMs < 20 * 60_000; ) {
      const { againMs = 0 } = await step(heldKey);
      assert.ok(againMs > 0, 'nothing else would wake it');
      other.clock.pass(againMs);
      waitedMs += againMs;
    }
    assert.deepEqual(other.calls(), [], 'the pod has an interceptor that nobody can ask');
    await step(heldKey);
    assert.deepEqual(other.calls(), ['POST web/eviction']);
    const reconcile = createEvictionRequestReconciler(scene.context);
    await reconcile(key, signal);
    const [labels, write] = scene.sent;
    assert.deepEqual([labels?.method, write?.path.replace(/^.*\//, '')], ['PATCH', 'status']);
    assert.match(JSON.stringify(write?.body), /"type":"Canceled","status":"True","reason":"Deleted"/);
    scene.requests.set(key, { ...request([IMPERATIVE], 0, held), status: canceled });
    scene.clock.pass(24 * 3_600_000);
    const before = scene.sent.length;
    assert.deepEqual(await reconcile(key, signal), {});
    assert.equal(scene.sent.slice(before).filter(({ method }) => method === 'DELETE').length, 0);
  });
});

describe('the request of a drain', () => {
  const ask = async (scene: EvictionScene): Promise<readonly string[]> => {
    scene.drain(ALL);
    const refusals = new Refusals(scene.clock, () => undefined);
    const grouped = createGroupedEvictions(scene.context, createEvictionConcurrency(scene.clock));
    const room = new EvictionRoom(scene.context);
    const { reconcile } = new DrainRequests(scene.context, { refused: refusals, room, grouped });
    for (const each of scene.pods.values()) await reconcile(requestKeyOf(each), AbortSignal.timeout(10_000));
    return scene.calls();
  };

  it('the request of a drain replaces one that was canceled for whatever reason', async () => {
    for (const name of ['web', 'nobody']) {
      const scene = createEvictionScene();
      const spec = { target: { pod: { name, uid: 'u' } }, requesters: [] };
      scene.put({ ...request([], 0), spec, status: canceled }, pod());
      assert.deepEqual(await ask(scene), ['DELETE evictionrequests/u']);
    }
  });

  it('the request of a drain is neither made nor changed while the former one is deleted but held', async () => {
    const scene = createEvictionScene();
    scene.put(request([IMPERATIVE], 0, held), pod());
    assert.deepEqual(await ask(scene), []);
  });
});

describe('a request that only drains have made', () => {
  it('its pod is evicted only while a drain targets it, also in the first turn of a controller', async () => {
    const scene = createEvictionScene();
    const made = request([IMPERATIVE], 0);
    const step = scene.loop(createImperativeEviction(scene.context));
    let key = '';
    for (const requesters of [[], [{ name: MAINTENANCE_REQUESTER }]]) {
      key = scene.put({ ...made, spec: { ...made.spec, requesters } }, pod());
      assert.ok(((await step(key)).againMs ?? Infinity) <= 1_000);
      assert.deepEqual(scene.calls(), []);
    }
    scene.drain(ALL);
    await step(key);
    assert.ok(scene.calls().includes('POST web/eviction'));
  });

  it('its pod is not evicted where its node is gone, or the drain keeps such pods', async () => {
    for (const what of ['no node', 'kept']) {
      const scene = createEvictionScene();
      const target: Pod = { ...pod(), spec: { nodeName: 'n', volumes: [{ name: 'v', emptyDir: {} }] } };
      const spec = { target: { pod: { name: 'web', uid: 'u' } }, requesters: [{ name: MAINTENANCE_REQUESTER }] };
      const key = scene.put({ ...request([IMPERATIVE], 0), spec }, target);
      scene.drain(ALL);
      const drain = scene.maintenances.get('m') ?? assert.fail();
      if (what === 'kept') scene.maintenances.set('m', { ...drain, spec: { ...drain.spec, keepPods: ['EmptyDir'] } });
      if (what === 'no node') scene.nodes.delete('n');
      await scene.loop(createImperativeEviction(scene.context))(key);
      assert.deepEqual(scene.calls(), [], what);
    }
  });
});
