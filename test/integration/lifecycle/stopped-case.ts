/** A cluster whose controllers of `lifecycle.k8s.io` do not run: neither the add-on, nor those of Kubernetes. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { LifecycleRequest } from '../../../src/api/lifecycle.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { EVICTION_REQUESTS } from '../../../src/kube/resource.ts';
import { EVICTIONS, LIFECYCLE_REQUESTS, PODS } from '../../support/rigs/lifecycle.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { DrainSteps } from './look-cases.ts';

/** Adds the case; the add-on may not run. */
export function addStoppedCase({ rigOf, scene, createNode, createPod, drain }: DrainSteps): void {
  it('a drain goes on in the older dialect when no controller works on its requests, and asks for no pod twice', async () => {
    const rig = rigOf();
    const stop = await rig.startController();
    const namespace = await scene.newNamespace();
    await createNode('z9');
    const pods = [
      await createPod(namespace, 'one', { nodeName: 'z9' }),
      await createPod(namespace, 'two', { nodeName: 'z9' }),
    ];
    await drain('z9');
    const requestOf = async ({ metadata: { uid = '' } }: Pod): Promise<LifecycleRequest | undefined> =>
      await rig.get<LifecycleRequest>(LIFECYCLE_REQUESTS, namespace, uid);
    for (const pod of pods) {
      const isAsked = async (): Promise<boolean> => (await requestOf(pod))?.spec.intent === 'Eviction';
      await waitFor(`${pod.metadata.name} is asked for in the newer dialect`, isAsked);
    }
    for (const pod of pods) {
      const { name, uid = '' } = pod.metadata;
      const isGone = async (): Promise<boolean> => (await rig.get<Pod>(PODS, namespace, name)) === undefined;
      // The controllers have a minute to look at a request.
      await waitFor(`${name} has left`, isGone, { timeoutMs: 120_000 });
      assert.ok(await rig.get(EVICTION_REQUESTS, namespace, uid), name);
      assert.notEqual((await requestOf(pod))?.spec.intent, 'Eviction', name);
      assert.equal(await rig.get(EVICTIONS, namespace, `pod-1-${name}`), undefined);
    }
    await createNode('z10');
    const next = await createPod(namespace, 'next', { nodeName: 'z10' });
    await drain('z10');
    const isGone = async (): Promise<boolean> => (await rig.get<Pod>(PODS, namespace, 'next')) === undefined;
    await waitFor('a later pod does not wait a minute', isGone, { timeoutMs: 30_000 });
    assert.equal(await requestOf(next), undefined);
    await stop();
  });
}
