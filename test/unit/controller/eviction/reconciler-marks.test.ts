import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest } from '../../../../src/api/eviction-request.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { createEvictionRequestReconciler, isMarkObsolete } from '../../../../src/controller/eviction/reconciler.ts';
import { createEvictionScene } from '../../../support/eviction/scene.ts';

const IMPERATIVE = 'imperative-eviction.k8s.io';
const TAKE_OVER = { 'coordination.x-k8s.io/evict-policy': 'ControllerTakeOver' };
const MARK = { 'kubernetes.io/pod-evict-wanted': 'true' };
const MARKED: Pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'u', annotations: { ...TAKE_OVER, ...MARK } },
  spec: { nodeName: 'n' },
};

function request(isCanceled: boolean): EvictionRequest {
  const lastTransitionTime = '2026-01-01T00:00:00Z';
  const canceled = { type: 'Canceled', status: 'True', reason: 'x', message: '', lastTransitionTime } as const;
  return {
    metadata: { name: 'u', namespace: 'default', uid: 'r-1' },
    spec: { target: { pod: { name: 'web', uid: 'u' } }, requesters: [{ name: 'x.example.com' }] },
    status: { conditions: isCanceled ? [canceled] : [] },
  };
}

describe('the mark of a pod for its controller', () => {
  it('the mark stays while somebody requests the eviction, and is removed when nobody does', async () => {
    const scene = createEvictionScene();
    const key = scene.put(request(false), MARKED);
    assert.equal(isMarkObsolete(scene.context, MARKED), false);
    scene.put(request(true));
    assert.equal(isMarkObsolete(scene.context, MARKED), true, 'canceled');
    scene.requests.delete(key);
    assert.equal(isMarkObsolete(scene.context, MARKED), true, 'deleted');
    scene.pods.set('default/web', MARKED);
    await createEvictionRequestReconciler(scene.context)(key, AbortSignal.timeout(10_000));
    const [write] = scene.sent;
    assert.deepEqual(write?.patch, { kind: 'apply', manager: IMPERATIVE }, 'it removes only what it wrote');
    assert.deepEqual((write?.body as Pod | undefined)?.metadata.annotations, {});
  });

  it('the mark of a pod without the policy is of another writer, and stays', () => {
    const scene = createEvictionScene();
    for (const annotations of [MARK, TAKE_OVER]) {
      const pod = { ...MARKED, metadata: { ...MARKED.metadata, annotations } };
      assert.equal(isMarkObsolete(scene.context, pod), false);
    }
  });
});
