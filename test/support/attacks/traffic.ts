/** What others try on the traffic of pods: to take them out of their Services, or to get them into some. */
import assert from 'node:assert/strict';
import { TRAFFIC_DRAIN_ANNOTATION, TRAFFIC_LABEL, TRAFFIC_LEFT_ANNOTATION } from '../../../src/api/names.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { collectionPath, EVICTION_REQUESTS, objectPath, PODS } from '../../../src/kube/resource.ts';
import { requestFor } from '../rigs/admission.ts';
import { waitFor } from '../wait-for.ts';
import {
  allowed,
  type Attack,
  type Attacker,
  type Call,
  type Family,
  nodeRestriction,
  RBAC,
  refused,
  sendAs,
} from './attack.ts';
import { dry, podBody, type PodName, type Scene, TEAM } from './scene.ts';
import { make } from './steps.ts';

const OUT = { labels: { [TRAFFIC_LABEL]: 'drain' } };
const LEFT = { annotations: { [TRAFFIC_LEFT_ANNOTATION]: '2026-01-01T00:00:00Z' } };

function changed(pod: PodName, metadata: object, subresource?: string): Call {
  return ({ pods }) => {
    const path = objectPath(PODS, pods[pod].metadata, subresource);
    return dry('PATCH', path, { body: { metadata }, patch: { kind: 'merge' } });
  };
}

const CONTROL = allowed('controller', 'the controller marks a pod', ({ pods }) =>
  dry('PATCH', objectPath(PODS, pods['web-1'].metadata), { body: { metadata: LEFT }, patch: { kind: 'merge' } }),
);

const by = (attacker: Attacker, pod: PodName): Attack =>
  refused(attacker, 'takes a pod of others out of its Services', RBAC, changed(pod, OUT));

const OTHERS = nodeRestriction(/can only update pod status for pods with spec.nodeName set to itself/u);

/** Every one of these is refused by the API server. */
export const TRAFFIC_ATTACKS: readonly Family[] = [
  {
    attacker: 'n1',
    title: 'the traffic of pods',
    control: CONTROL,
    attacks: [
      by('n1', 'web-2'),
      refused('n1', 'takes a pod of its own out of its Services', RBAC, changed('web-1', OUT)),
      refused(
        'n1',
        'takes a pod of its own out of its Services, with its status',
        nodeRestriction(/cannot update labels through pod status/u),
        changed('web-1', OUT, 'status'),
      ),
      refused('n1', 'takes a pod of n2 out of its Services, with its status', OTHERS, changed('web-2', OUT, 'status')),
      refused(
        'n1',
        'says with the status of a pod of n2 that it has left its Services long ago',
        OTHERS,
        changed('web-2', LEFT, 'status'),
      ),
    ],
  },
  { attacker: 'editor', title: 'the traffic of pods', control: CONTROL, attacks: [by('editor', 'db')] },
  { attacker: 'requester', title: 'the traffic of pods', control: CONTROL, attacks: [by('requester', 'web-1')] },
  { attacker: 'interceptor', title: 'the traffic of pods', control: CONTROL, attacks: [by('interceptor', 'web-1')] },
];

/** A ready pod on n3 that opts in, as its author makes it. */
async function servingPod(scene: Scene, name: string, metadata: object = {}): Promise<Pod> {
  const own = { annotations: { [TRAFFIC_DRAIN_ANNOTATION]: '10m' }, labels: { [TRAFFIC_LABEL]: 'serve' }, ...metadata };
  const pods = collectionPath(PODS, TEAM);
  const pod = await make<Pod>(scene, 'editor', pods, podBody(name, own, { nodeName: 'n3' }));
  const status = { conditions: [{ type: 'Ready', status: 'True' }] };
  const path = objectPath(PODS, { name, namespace: TEAM }, 'status');
  const answer = await sendAs(scene.clients.admin, {
    method: 'PATCH',
    path,
    body: { status },
    patch: { kind: 'merge' },
  });
  assert.equal(answer.status, 200);
  return pod;
}

async function labelOf(scene: Scene, name: string): Promise<string | undefined> {
  const path = objectPath(PODS, { name, namespace: TEAM });
  const { body } = await sendAs(scene.clients.admin, { method: 'GET', path });
  return (body as Pod).metadata.labels?.[TRAFFIC_LABEL];
}

/** Makes a request for a pod, under a UID, and waits until the controller has canceled it. */
async function canceled(scene: Scene, pod: string, uid: string): Promise<void> {
  const meta = { name: uid, namespace: TEAM };
  await make(scene, 'editor', collectionPath(EVICTION_REQUESTS, TEAM), requestFor(pod, uid, {}, meta));
  await waitFor('the request is over', async () => {
    const { body } = await sendAs(scene.clients.admin, { method: 'GET', path: objectPath(EVICTION_REQUESTS, meta) });
    const { conditions = [] } = (body as { status?: { conditions?: { type: string; status: string }[] } }).status ?? {};
    return conditions.some(({ type, status }) => type === 'Canceled' && status === 'True');
  });
}

/** What the API server lets through, and the controller makes nothing of. */
export const TRAFFIC_CONSEQUENCES: readonly Attack[] = [
  {
    name: 'asks by a UID that it does not have for a pod to leave its Services',
    refusedBy: 'controller: cancels the request, the pod stays in its Services',
    attempt: async (scene) => {
      await servingPod(scene, 'serving');
      await canceled(scene, 'serving', crypto.randomUUID());
      assert.equal(await labelOf(scene, 'serving'), 'serve');
    },
  },
  {
    name: 'says of a pod that the controller has taken it out of its Services',
    refusedBy: 'controller: puts a pod back whose eviction nobody asks for',
    attempt: async (scene) => {
      const annotations = { [TRAFFIC_DRAIN_ANNOTATION]: '10m', [TRAFFIC_LEFT_ANNOTATION]: '2999-01-01T00:00:00Z' };
      await servingPod(scene, 'put-out', { ...OUT, annotations });
      await waitFor('it serves', async () => (await labelOf(scene, 'put-out')) === 'serve');
    },
  },
];
