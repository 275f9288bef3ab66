import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest } from '../../../../src/api/eviction-request.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import {
  createMarkReconciler,
  isMarkObsolete,
  type NewerRequests,
} from '../../../../src/controller/eviction/evict-mark-removal.ts';
import { createEvictionScene, type EvictionScene } from '../../../support/eviction/scene.ts';

const IMPERATIVE = 'imperative-eviction.k8s.io';
const TAKE_OVER = { 'coordination.x-k8s.io/evict-policy': 'ControllerTakeOver' };
const MARK = { 'kubernetes.io/pod-evict-wanted': 'true' };
const MARKED: Pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'u', annotations: { ...TAKE_OVER, ...MARK } },
  spec: { nodeName: 'n' },
};

/** What is known of the newer dialect. */
const newer = (isAsked: boolean | undefined): NewerRequests => ({ mayHaveAny: () => true, isAsked: () => isAsked });

function request(isCanceled: boolean): EvictionRequest {
  const lastTransitionTime = '2026-01-01T00:00:00Z';
  const canceled = { type: 'Canceled', status: 'True', reason: 'x', message: '', lastTransitionTime } as const;
  return {
    metadata: { name: 'u', namespace: 'default', uid: 'r-1' },
    spec: { target: { pod: { name: 'web', uid: 'u' } }, requesters: [{ name: 'x.example.com' }] },
    status: { conditions: isCanceled ? [canceled] : [] },
  };
}

async function sweep(scene: EvictionScene, isAsked: boolean | undefined): Promise<{ readonly againMs?: number }> {
  scene.pods.set('default/web', MARKED);
  return await createMarkReconciler(scene.context, newer(isAsked))('default/web', AbortSignal.timeout(10_000));
}

describe('the mark of a pod for its controller', () => {
  it('the mark stays while somebody requests the eviction, and is removed when nobody does', async () => {
    const scene = createEvictionScene();
    const key = scene.put(request(false), MARKED);
    assert.equal(isMarkObsolete(scene.context, newer(false), MARKED), false);
    scene.put(request(true));
    assert.equal(isMarkObsolete(scene.context, newer(false), MARKED), true, 'canceled');
    scene.requests.delete(key);
    assert.equal(isMarkObsolete(scene.context, newer(false), MARKED), true, 'deleted');
    await sweep(scene, false);
    const [write] = scene.sent;
    assert.deepEqual(write?.patch, { kind: 'apply', manager: IMPERATIVE }, 'it removes only what it wrote');
    assert.deepEqual((write?.body as Pod | undefined)?.metadata.annotations, {});
  });

  it('the mark stays where the eviction is asked for again while the newer dialect is asked', async () => {
    const scene = createEvictionScene();
    scene.pods.set('default/web', MARKED);
    const { send } = scene.context.client;
    const client = {
      send: async (...call: Parameters<typeof send>) => {
        const answer = await send(...call);
        scene.put(request(false));
        return { ...answer, body: { items: [] } };
      },
    };
    const context = { ...scene.context, client } as typeof scene.context;
    const unwatched = { ...newer(false), mayHaveAny: () => false };
    await createMarkReconciler(context, unwatched)('default/web', AbortSignal.timeout(10_000));
    assert.deepEqual(
      scene.sent.filter(({ method }) => method === 'PATCH'),
      [],
    );
  });

  it('the mark stays while somebody requests the eviction in the newer dialect', async () => {
    const scene = createEvictionScene();
    await sweep(scene, true);
    scene.put(request(true));
    await sweep(scene, true);
    assert.deepEqual(scene.calls(), [], 'also where a request of the older dialect is over');
  });

  it('the mark stays while the requests of the newer dialect are not known, and is looked at again', async () => {
    const scene = createEvictionScene();
    assert.ok(((await sweep(scene, undefined)).againMs ?? 0) > 0);
    assert.deepEqual(scene.calls(), []);
    scene.put(request(false));
    assert.deepEqual(await sweep(scene, undefined), {}, 'the older dialect asks for it in any case');
  });

  describe('where the controller has no copies of the newer dialect', () => {
    const lists = '/apis/lifecycle.k8s.io/v1alpha1/namespaces/default/';
    const off: NewerRequests = { mayHaveAny: () => false, isAsked: () => false };
    const look = async (answers: Readonly<Record<string, object>>): Promise<readonly [number, readonly string[]]> => {
      const scene = createEvictionScene();
      scene.pods.set('default/web', MARKED);
      const { client } = scene.context;
      const send: typeof client.send = async (sent, signal) => {
        const answer = answers[sent.path.replace(lists, '')];
        return answer === undefined
          ? await client.send(sent, signal)
          : { status: 200, headers: {}, body: {}, ...answer };
      };
      const context = { ...scene.context, client: { ...client, send } };
      const { againMs = 0 } = await createMarkReconciler(context, off)('default/web', AbortSignal.timeout(10_000));
      return [againMs, scene.calls()];
    };
    const evictionOf = (uid: string, status: object = {}): object => {
      return {
        metadata: { name: 'pod-1-web', namespace: 'default' },
        spec: { target: { pod: { name: 'web', uid } } },
        status,
      };
    };
    const listed = (...items: readonly object[]): Readonly<Record<string, object>> => {
      return { evictions: { body: { items } }, evictionrequests: { body: { items: [] } } };
    };

    it('the mark stays while an Eviction is under way, and is looked at again', async () => {
      const [againMs, calls] = await look(listed(evictionOf('u')));
      assert.ok(againMs > 0 && againMs <= 60_000);
      assert.deepEqual(calls, []);
    });

    it('it is removed when the Eviction is over, or is that of another pod', async () => {
      const conditions = [
        { type: 'Failed', status: 'True', reason: 'x', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
      ];
      for (const other of [evictionOf('u', { conditions }), evictionOf('other')]) {
        const [againMs, calls] = await look(listed(other));
        assert.equal(againMs, 0);
        assert.match(calls.join(), /^PATCH pods\/web\S*$/);
      }
    });

    it('it is removed where the cluster does not serve the dialect, or it may not be read', async () => {
      for (const status of [404, 403]) {
        const [, calls] = await look({ evictions: { status }, evictionrequests: { status } });
        assert.match(calls.join(), /^PATCH pods\/web\S*$/);
      }
    });
  });

  it('the mark of a pod without the policy is of another writer, and stays', () => {
    const scene = createEvictionScene();
    for (const annotations of [MARK, TAKE_OVER]) {
      const pod = { ...MARKED, metadata: { ...MARKED.metadata, annotations } };
      assert.equal(isMarkObsolete(scene.context, newer(false), pod), false);
    }
  });
});
