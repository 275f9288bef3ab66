import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  EVICT_ONLY_ANNOTATION,
  EVICT_POLICY_ANNOTATION,
  EVICTION_IN_PROGRESS_ANNOTATION,
} from '../../../../src/api/names.ts';
import { createDrainObserver, type DrainObservation } from '../../../../src/controller/maintenance/observer.ts';
import { withGroups } from '../../../../src/controller/pod-group/requests.ts';
import { drainOf } from '../../../support/maintenance/objects.ts';
import { groupPod, groupScene, type GroupScene } from '../../../support/eviction/group-scene.ts';

const MINUTE = 60_000;

/** What the drain of the node n has come to, with these options of the controller. */
function observe(scene: GroupScene, options: object = {}): DrainObservation {
  const { context, groups, maintenances, clock } = scene;
  scene.nodes.set('n', { metadata: { name: 'n', uid: 'uid-n' } });
  const drained = {
    ...context,
    options: { ...context.options, ...options },
    requests: withGroups(context.requests, groups),
  };
  return createDrainObserver(drained).observe(maintenances.get('m') ?? drainOf('m', ['n']), clock.now());
}

function blocking(scene: GroupScene): readonly string[] {
  const { nodeStatuses = [] } = observe(scene).status;
  return nodeStatuses.flatMap(({ podsBlocking = [] }) =>
    podsBlocking.map(({ name, reason, message }) => `${name} ${reason} ${message}`),
  );
}

describe('the status of a drain with pods of groups', () => {
  it('a pod that is left to its controller is named after ten seconds', async () => {
    const scene = groupScene({ single: {} });
    scene.annotate('a', { [EVICT_POLICY_ANNOTATION]: 'ControllerTakeOver' });
    await scene.evict('a');
    assert.deepEqual(blocking(scene), []);
    scene.clock.pass(10_000);
    const [first, ...others] = blocking(scene);
    assert.match(first ?? '', /^a Interceptor imperative-eviction\.k8s\.io: Pod a is left to its controller/);
    assert.deepEqual(others, []);
  });

  it('a pod that is evicted in the background for long is waited for, and its engine is not called silent', async () => {
    const scene = groupScene({ single: {} });
    scene.annotate('a', { [EVICT_ONLY_ANNOTATION]: '', [EVICTION_IN_PROGRESS_ANNOTATION]: '' });
    for (let passed = 0; passed < 20 * MINUTE; ) {
      const { againMs = Infinity } = await scene.evict('a');
      assert.ok(againMs <= 3 * MINUTE);
      scene.clock.pass(againMs);
      passed += againMs;
      assert.match(blocking(scene)[0] ?? '', /^a Interceptor .* in the background is in progress/);
    }
  });

  it('their pods count as leaving', async () => {
    const scene = groupScene({ single: {} });
    const leaving = (): number | undefined => observe(scene).status.nodeStatuses?.[0]?.podsEvacuating;
    assert.equal(leaving(), 0);
    await scene.evict('a');
    assert.equal(leaving(), 1);
  });
});

describe('the limits of evictions in flight with pods of groups', () => {
  const limits = { maxEvictionsPerNode: 1, maxEvictionTime: 5 * MINUTE };
  const admitted = (scene: GroupScene): readonly string[] =>
    observe(scene, limits)
      .intents.map(({ pod }) => pod.name)
      .toSorted();

  it('one that has begun keeps its place for its time, and leaves it to others afterwards', async () => {
    const scene = groupScene({ single: {} });
    for (const name of ['a', 'd']) scene.pods.delete(`default/${name}`);
    scene.pods.set('default/z', { ...groupPod('z', 'n'), spec: { nodeName: 'n' } });
    scene.evictionAnswer = () => ({ status: 500 });
    await scene.evict('b');
    assert.deepEqual(admitted(scene), ['b']);
    scene.clock.pass(5 * MINUTE);
    assert.deepEqual(admitted(scene), ['b', 'z']);
  });

  it('one that leaves with its group from another node counts in its namespace', async () => {
    const scene = groupScene({ all: {} });
    const perNamespace = { maxEvictionsPerNamespace: 3, maxEvictionTime: 60 * MINUTE };
    await scene.evict('a');
    assert.deepEqual(
      observe(scene, perNamespace).intents.map(({ pod }) => pod.name),
      ['a', 'b'],
      'with c, which is on another node, there are three',
    );
  });
});
