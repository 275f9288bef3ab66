/** Requests of drains that somebody else holds, deletes, or has the name of: the pod leaves by the older dialect. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { LifecycleRequest } from '../../../src/api/lifecycle.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { collectionPath, EVICTION_REQUESTS, objectPath } from '../../../src/kube/resource.ts';
import { LIFECYCLE_REQUESTS, PODS, requestBody } from '../../support/rigs/lifecycle.ts';
import { SLOW, waitFor } from '../../support/wait-for.ts';
import type { DrainSteps } from './look-cases.ts';
import { B } from './scene.ts';

export function addForeignCases({ rigOf, scene, createNode, createPod, drain }: DrainSteps): void {
  const untilGone = async ({ metadata: { name, namespace = '' } }: Pod): Promise<void> => {
    const isGone = async (): Promise<boolean> => (await rigOf().get<Pod>(PODS, namespace, name)) === undefined;
    await waitFor('the pod has left', isGone, SLOW);
  };

  it('a drain whose request is deleted and held by a finalizer goes on in the older dialect', async () => {
    const rig = rigOf();
    const stop = await rig.startController();
    const namespace = await scene.newNamespace();
    await createNode('z7');
    const pod = await createPod(namespace, 'held', {
      nodeName: 'z7',
      evictionResponders: [{ name: B, priority: 2000 }],
    });
    const uid = pod.metadata.uid ?? '';
    await drain('z7');
    await scene.untilEviction({ metadata: { name: 'pod-1-held', namespace } }, 'B has its turn', ({ status }) => {
      return status?.targetResponders?.[0]?.state === 'Active';
    });
    const request = await rig.get<LifecycleRequest>(LIFECYCLE_REQUESTS, namespace, uid);
    assert.ok(request);
    await rig.patch(LIFECYCLE_REQUESTS, request, { metadata: { finalizers: ['hold.example.com/x'] } });
    await rig.send({ method: 'DELETE', path: objectPath(LIFECYCLE_REQUESTS, request.metadata) });
    await untilGone(pod);
    await rig.patch(LIFECYCLE_REQUESTS, request, { metadata: { finalizers: null } });
    await stop();
  });

  it('a drain whose name for the request is taken asks in the older dialect', async () => {
    const rig = rigOf();
    const namespace = await scene.newNamespace();
    await createNode('z8');
    const pod = await createPod(namespace, 'taken', { nodeName: 'z8' });
    const uid = pod.metadata.uid ?? '';
    const { spec } = requestBody(pod) as unknown as LifecycleRequest;
    const body = { metadata: { name: uid }, spec: { ...spec, intent: 'Withdrawn' } };
    const other = await rig.create<LifecycleRequest>(LIFECYCLE_REQUESTS, namespace, body);
    // A list of the controller may come from the cache of the API server.
    const cached = {
      method: 'GET',
      path: `${collectionPath(LIFECYCLE_REQUESTS, namespace)}?resourceVersion=0`,
    } as const;
    const isCached = async (): Promise<boolean> => JSON.stringify((await rig.ask(cached)).body).includes(uid);
    await waitFor('the cache of the API server has the request', isCached);
    const stop = await rig.startController();
    await drain('z8');
    await untilGone(pod);
    assert.ok(await rig.get(EVICTION_REQUESTS, namespace, uid));
    const now = await rig.get<LifecycleRequest>(LIFECYCLE_REQUESTS, namespace, uid);
    assert.equal(now?.metadata.uid, other.metadata.uid);
    await stop();
  });
}
