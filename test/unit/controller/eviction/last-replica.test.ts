import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest } from '../../../../src/api/eviction-request.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { createImperativeEviction } from '../../../../src/controller/eviction/imperative.ts';
import { LAST_REPLICA_MS } from '../../../../src/controller/eviction/last-replica.ts';
import { createEvictionScene, type EvictionScene } from '../../../support/eviction/scene.ts';
import { drainOf } from '../../../support/maintenance/objects.ts';

const IMPERATIVE = 'imperative-eviction.k8s.io';
const NAMESPACE = 'nodemaint-system';
const LABELS = { 'app.kubernetes.io/name': 'nodemaint-controller' };

function podOn(nodeName: string, name: string, metadata: object = {}): Pod {
  return { metadata: { name, namespace: 'default', uid: `uid-${name}`, ...metadata }, spec: { nodeName } };
}

function replica(nodeName: string, name: string, metadata: object = {}): Pod {
  return podOn(nodeName, name, { namespace: NAMESPACE, labels: LABELS, ...metadata });
}

function requestOf({ metadata }: Pod): EvictionRequest {
  const { name, namespace = '', uid = '' } = metadata;
  const active = {
    targetInterceptors: [{ name: IMPERATIVE }],
    activeInterceptors: [IMPERATIVE],
    processedInterceptors: [],
  };
  return {
    metadata: { name: uid, namespace, uid: `r-${uid}`, creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { target: { pod: { name, uid } }, requesters: [{ name: 'x.example.com' }] },
    status: { ...active, interceptors: [{ name: IMPERATIVE, message: '' }] },
  };
}

/** A replica of the node n1 that is to leave, with other pods, of which those that are `asked` have requests. */
function sceneOf(others: readonly Pod[], asked: readonly Pod[], nodes = ['n1', 'n2']): EvictionScene & { key: string } {
  const scene = createEvictionScene();
  const own = replica('n1', 'c-1');
  for (const node of ['n1', 'n2', 'n3']) scene.nodes.set(node, { metadata: { name: node } });
  scene.maintenances.set('m', drainOf('m', nodes));
  for (const pod of [...others, ...asked]) scene.pods.set(`${pod.metadata.namespace}/${pod.metadata.name}`, pod);
  for (const pod of asked) scene.put(requestOf(pod), pod);
  return Object.assign(scene, { key: scene.put(requestOf(own), own) });
}

/** Whether the replica is evicted at once. */
async function leavesAtOnce(...given: Parameters<typeof sceneOf>): Promise<boolean> {
  const scene = sceneOf(...given);
  await scene.loop(createImperativeEviction(scene.context))(scene.key);
  return scene.attempts.includes('accepted');
}

const WEB = podOn('n2', 'web');
const TERMINATING = podOn('n2', 'web', { deletionTimestamp: '2026-01-01T00:00:00Z' });

describe('the last replica of the controller', () => {
  it('it leaves at once where no other node needs it', async () => {
    assert.equal(await leavesAtOnce([], []), true);
    assert.equal(await leavesAtOnce([], [TERMINATING]), true, 'what is ending needs nobody');
    assert.equal(await leavesAtOnce([], [replica('n2', 'c-2')]), true, 'replicas do not wait for each other');
  });

  it('it stays while a pod of another node is still to be asked, unless another replica goes on', async () => {
    assert.equal(await leavesAtOnce([], [WEB]), false);
    assert.equal(await leavesAtOnce([replica('n3', 'c-2')], [WEB]), true);
    assert.equal(await leavesAtOnce([replica('n2', 'c-2')], [WEB]), false, 'that one is drained, too');
  });

  it('it stays for some minutes at most', async () => {
    const scene = sceneOf([], [WEB]);
    const step = scene.loop(createImperativeEviction(scene.context));
    await step(scene.key);
    scene.clock.pass(LAST_REPLICA_MS - 1_000);
    await step(scene.key);
    assert.deepEqual(scene.attempts, []);
    scene.clock.pass(1_000);
    await step(scene.key);
    assert.deepEqual(scene.attempts, ['accepted']);
  });
});
