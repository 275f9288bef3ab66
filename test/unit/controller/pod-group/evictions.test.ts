import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../../src/api/pod.ts';
import { createGroupEvictions } from '../../../../src/controller/pod-group/evictions.ts';
import type { KubeRequest, KubeResponse } from '../../../../src/kube/client.ts';
import { createEvictionScene, type EvictionScene } from '../../../support/eviction/scene.ts';

const SIGNAL = AbortSignal.timeout(30_000);
const BLOCKED = { status: 429, body: { message: "would violate the pod's disruption budget" } };

function pod(name: string, node: string, group = 'train'): Pod {
  const labels = { app: 'train' };
  const spec = { nodeName: node, schedulingGroup: { podGroupName: group } };
  return { metadata: { name, namespace: 'default', uid: `u-${name}`, labels }, spec };
}

/** A scene with three pods of one group, on two nodes, and one of another group. */
function groupScene(
  disruptionMode: object,
  podGroups = 200,
): EvictionScene & { readonly evict: (name: string) => Promise<object> } {
  const scene = createEvictionScene();
  for (const each of [pod('a', 'n'), pod('b', 'n'), pod('c', 'other'), pod('d', 'n', 'else')]) {
    scene.pods.set(`default/${each.metadata.name}`, each);
  }
  const { send } = scene.context.client;
  const client = {
    ...scene.context.client,
    send: async (request: KubeRequest, signal: AbortSignal): Promise<KubeResponse> => {
      const answer = await send(request, signal);
      return request.path.includes('/podgroups/')
        ? { ...answer, status: podGroups, body: { spec: { disruptionMode } } }
        : answer;
    },
  };
  const groups = createGroupEvictions({ ...scene.context, client });
  const evict = async (name: string): Promise<object> => {
    const target = scene.pods.get(`default/${name}`);
    assert.ok(target !== undefined);
    return await groups.evict(target, SIGNAL);
  };
  return Object.assign(scene, { evict });
}

function asked(scene: EvictionScene, isTrial: boolean): readonly string[] {
  const found = scene.calls().filter((call) => call.endsWith('?dryRun=All') === isTrial && call.includes('/eviction'));
  return found.map((call) => call.replace(/^POST (\w+).*$/, '$1')).toSorted();
}

describe('the eviction of pods of a group', () => {
  it('the pods of a group with the mode all are tried first, and then evicted together, on all nodes', async () => {
    const scene = groupScene({ all: {} });
    assert.deepEqual(await scene.evict('b'), { againMs: 1_000 });
    assert.deepEqual(
      [asked(scene, true), asked(scene, false)],
      [
        ['a', 'b', 'c'],
        ['a', 'b', 'c'],
      ],
    );
    const lastTrial = scene.calls().findLastIndex((call) => call.endsWith('?dryRun=All'));
    const first = scene.calls().findIndex((call) => call.endsWith('/eviction'));
    assert.ok(lastTrial < first);
  });

  it('no pod leaves where one of them may not', async () => {
    const scene = groupScene({ all: {} });
    scene.evictionAnswer = () => BLOCKED;
    assert.match(JSON.stringify(await scene.evict('a')), /"refused":"Pod a: would violate/);
    assert.deepEqual(asked(scene, false), []);
  });

  it('the pods leave where a webhook cannot be asked for a trial', async () => {
    const scene = groupScene({ all: {} });
    const { evictionAnswer } = scene;
    scene.evictionAnswer = (request) =>
      request.path.endsWith('?dryRun=All')
        ? { status: 400, body: { message: 'admission webhook "w" does not support dry run' } }
        : evictionAnswer(request);
    assert.deepEqual(await scene.evict('a'), { againMs: 1_000 });
    assert.deepEqual(asked(scene, false), ['a', 'b', 'c']);
  });

  it('no pod is asked for where a budget allows fewer disruptions than it covers pods', async () => {
    const scene = groupScene({ all: {} });
    const budget = {
      metadata: { name: 'pdb', namespace: 'default' },
      spec: { selector: {} },
      status: { disruptionsAllowed: 2 },
    };
    scene.budgets.set('default/pdb', budget);
    assert.match(JSON.stringify(await scene.evict('a')), /PodDisruptionBudget pdb allows 2 disruptions for 3 of them/);
    assert.deepEqual([asked(scene, true), asked(scene, false)], [[], []]);
  });

  it('the other pods of a group say the same as the one that has asked, and ask for nothing', async () => {
    const scene = groupScene({ all: {} });
    scene.evictionAnswer = () => BLOCKED;
    const first = await scene.evict('a');
    const { length } = scene.sent;
    assert.deepEqual(await scene.evict('b'), first);
    assert.equal(scene.sent.length, length);
    scene.clock.pass(5_000);
    await scene.evict('b');
    assert.ok(scene.sent.length > length, 'they are tried again after a while');
  });

  it('another pod of a group looks again soon while the first one is being asked for', async () => {
    const scene = groupScene({ all: {} });
    const [, second] = await Promise.all([scene.evict('a'), scene.evict('b')]);
    assert.deepEqual(second, { againMs: 1_000 });
  });

  it('a pod of a group with the mode single, or of a group that does not exist, leaves alone', async () => {
    for (const scene of [groupScene({ single: {} }), groupScene({}, 404)]) {
      await scene.evict('a');
      assert.deepEqual([asked(scene, true), asked(scene, false)], [[], ['a']]);
    }
  });

  it('a group that may not be read is left alone', async () => {
    const scene = groupScene({ all: {} }, 403);
    await assert.rejects(scene.evict('a'), /refused GET .*podgroups\/train/);
    assert.deepEqual([asked(scene, true), asked(scene, false)], [[], []]);
  });
});
