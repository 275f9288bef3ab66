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
const newer = (isAsked: boolean | undefined): NewerRequests => ({ isAsked: () => isAsked });

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

  it('the mark of a pod without the policy is of another writer, and stays', () => {
    const scene = createEvictionScene();
    for (const annotations of [MARK, TAKE_OVER]) {
      const pod = { ...MARKED, metadata: { ...MARKED.metadata, annotations } };
      assert.equal(isMarkObsolete(scene.context, newer(false), pod), false);
    }
  });
});
