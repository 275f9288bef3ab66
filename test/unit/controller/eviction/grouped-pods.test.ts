import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../../src/api/pod.ts';
import { createGroupedEvictions } from '../../../../src/controller/eviction/grouped-pods.ts';
import { Refusals } from '../../../../src/controller/maintenance/refusals.ts';
import { whyRefused } from '../../../../src/decide/drain/blocking-pods.ts';
import { DrainRequests } from '../../../../src/controller/maintenance/requests.ts';
import { requestKeyOf } from '../../../../src/controller/cache/pods.ts';
import { EvictionRoom } from '../../../../src/controller/eviction/limits.ts';
import { createEvictionConcurrency } from '../../../../src/kube/eviction/concurrency.ts';
import { type Answer, createEvictionScene } from '../../../support/eviction/scene.ts';

const MEMBER: Pod = {
  metadata: { name: 'a', namespace: 'default', uid: 'u-a', labels: { app: 'train' } },
  spec: { nodeName: 'n', schedulingGroup: { podGroupName: 'train' } },
};
const BLOCKED: Answer = {
  status: 429,
  body: {
    message: 'Cannot evict pod',
    details: { causes: [{ reason: 'DisruptionBudget', message: 'it has none left' }] },
  },
};

describe('a pod of a PodGroup that a drain takes', () => {
  it('the pod is evicted without a request, with a pause that grows, and is named while a budget blocks it', async () => {
    const scene = createEvictionScene();
    scene.pods.set('default/a', MEMBER);
    const spec = { selector: { matchLabels: { app: 'train' } } };
    scene.budgets.set('default/train', { metadata: { name: 'train', namespace: 'default' }, spec });
    scene.drain([{ podType: 'Default', podPriority: 0 }]);
    scene.evictionAnswer = () => BLOCKED;
    const key = requestKeyOf(MEMBER);
    const refusals = new Refusals(scene.clock, () => undefined);
    const grouped = createGroupedEvictions(scene.context, createEvictionConcurrency(scene.clock));
    const room = new EvictionRoom(scene.context);
    const { reconcile } = new DrainRequests(scene.context, { refused: refusals, room, grouped });
    const step = async (): Promise<number> => (await reconcile(key, AbortSignal.timeout(10_000))).againMs ?? 0;

    const pauses: number[] = [];
    for (let attempt = 1; attempt <= 6; attempt += 1) {
      const pause = await step();
      pauses.push(pause);
      assert.equal(await step(), pause, 'nothing is asked before the pause is over');
      scene.clock.pass(pause);
    }
    assert.deepEqual(pauses, [2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    assert.deepEqual(scene.calls(), Array(6).fill('POST a/eviction'));
    const refusal = refusals.of(key) ?? assert.fail();
    assert.equal(whyRefused(MEMBER, refusal).reason, 'PodDisruptionBudget');

    scene.evictionAnswer = () => ({ status: 201 });
    await step();
    assert.equal(refusals.of(key), undefined, 'it is told to end');
    const deletionTimestamp = new Date(scene.clock.now()).toISOString();
    scene.pods.set('default/a', { ...MEMBER, metadata: { ...MEMBER.metadata, deletionTimestamp } });
    scene.clock.pass(60_000);
    await step();
    assert.deepEqual(scene.calls(), Array(7).fill('POST a/eviction'), 'and not asked for again while it ends');
  });
});
