/** What of the scene is of several people at once: a pod whose eviction two requesters ask for, and an Event of a kubelet. */
import { MAINTENANCE_REQUESTER, NODE_LABEL } from '../../../src/api/names.ts';
import type { Pod } from '../../../src/api/pod.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import {
  collectionPath,
  EVENTS,
  EVICTION_REQUESTS,
  objectPath,
  PODS,
  sendForObject,
} from '../../../src/kube/resource.ts';
import { firstStatus, requestFor } from '../rigs/admission.ts';

/** Makes the pod on node n1 with its EvictionRequest, and the Event `of-others`. */
export async function makeShared(
  { admin, controller }: Readonly<Record<'admin' | 'controller', KubeClient>>,
  namespace: string,
): Promise<Pod> {
  const signal = AbortSignal.timeout(30_000);
  const make = <T>(resource: typeof PODS, body: object): Promise<T | undefined> =>
    sendForObject<T>(admin, { method: 'POST', path: collectionPath(resource, namespace), body }, [], signal);
  await make(EVENTS, {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'of-others' },
    involvedObject: { kind: 'Pod', namespace, name: 'web-1' },
    reportingComponent: 'kubelet',
  });
  const spec = { nodeName: 'n1', containers: [{ name: 'main', image: 'none.invalid/none' }] };
  const pod = await make<Pod>(PODS, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'shared' }, spec });
  if (pod === undefined) throw new Error('shared');
  const uid = pod.metadata.uid ?? '';
  const requesters = [{ name: MAINTENANCE_REQUESTER }, { name: 'requester.example.com' }];
  const labels = { [NODE_LABEL]: 'n1' };
  await make(EVICTION_REQUESTS, requestFor('shared', uid, { requesters }, { namespace, labels }));
  const status = firstStatus(['actor.example.com', 'imperative-eviction.k8s.io']);
  const path = objectPath(EVICTION_REQUESTS, { name: uid, namespace }, 'status');
  await sendForObject(controller, { method: 'PATCH', path, body: { status }, patch: { kind: 'merge' } }, [], signal);
  return pod;
}
