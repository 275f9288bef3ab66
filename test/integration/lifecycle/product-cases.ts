/** What the product does beside upstream's cases. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { it } from 'node:test';
import type { Eviction, LifecycleRequest } from '../../../src/api/lifecycle.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { rfc3339 } from '../../../src/decide/time.ts';
import { createSystemClock } from '../../../src/host/clock.ts';
import { loadClusterAccess } from '../../../src/kube/access/cluster.ts';
import { createKubeClient, type KubeClient, type KubeResponse } from '../../../src/kube/client.ts';
import { runResponder } from '../../../src/kube/lifecycle/responder-loop.ts';
import { objectPath, statusMessage } from '../../../src/kube/resource.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import {
  createRunningPod,
  EVICTIONS,
  LIFECYCLE_REQUESTS,
  type LifecycleRig,
  podBody,
  PODS,
} from '../../support/rigs/lifecycle.ts';
import { waitFor } from '../../support/wait-for.ts';
import { A, AWAITING, B, DELETED, EVICTOR, says, type Scene } from './scene.ts';

const never = new AbortController().signal;

/** A client of a user with the rights of a responder. */
async function responderClient(rig: LifecycleRig, responder: string): Promise<KubeClient> {
  const user = `user-of-${responder.replace('/', '-')}`;
  const kind = { apiVersion: 'rbac.authorization.k8s.io/v1' };
  const group = ['lifecycle.k8s.io'];
  const rules = [
    { apiGroups: group, resources: ['evictions'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: group, resources: ['evictions/status', 'evictionrequests/status'], verbs: ['patch', 'get'] },
    { apiGroups: group, resources: ['responders'], resourceNames: [responder], verbs: ['respond'] },
    { apiGroups: [''], resources: ['pods'], verbs: ['get'] },
  ];
  const role = { ...kind, kind: 'ClusterRole', metadata: { name: user }, rules };
  const subjects = [{ kind: 'User', name: user, apiGroup: 'rbac.authorization.k8s.io' }];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: user };
  const binding = { ...kind, kind: 'ClusterRoleBinding', metadata: { name: user }, roleRef, subjects };
  for (const object of [role, binding]) await rig.controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
  return createKubeClient(await loadClusterAccess(await rig.controlPlane.kubeconfigFor(user, [])), user);
}

function addWholeCase(rigOf: () => LifecycleRig, scene: Scene): void {
  it('a pod is evicted for two requesters, and the Eviction is collected after its requests are deleted', async () => {
    const rig = rigOf();
    const namespace = await scene.newNamespace();
    const pod = await createRunningPod(rig, namespace, podBody('web', { finalizers: ['hold.example.com/x'] }));
    const requests = [await scene.createRequest(pod), await scene.createRequest(pod, 'bar.example.com/2')];
    const first = { metadata: { name: 'pod-1-web', namespace } };
    await scene.untilEviction(first, 'the pod is terminating', ({ status }) => {
      const message = status?.responders?.[0]?.message ?? '';
      return message.includes('is being terminated gracefully') && status?.requesters?.length === 2;
    });
    await rig.patch(PODS, pod, { metadata: { finalizers: null } });
    await scene.untilEviction(first, 'the pod has left', (each) => says(each, DELETED));
    for (const request of requests) {
      await scene.untilRequest(request, DELETED, 1);
      await rig.send({ method: 'DELETE', path: objectPath(LIFECYCLE_REQUESTS, request.metadata) });
    }
    const isGone = async (): Promise<boolean> =>
      (await rig.get<Eviction>(EVICTIONS, namespace, 'pod-1-web')) === undefined;
    await waitFor('the Eviction is collected', isGone);
  });
}

function addMirrorCase(rigOf: () => LifecycleRig, scene: Scene): void {
  it('a mirror pod is given to the agent of its node, and never to the default evictor', async () => {
    const rig = rigOf();
    const namespace = await scene.newNamespace();
    const annotations = { 'kubernetes.io/config.mirror': 'x' };
    const pod = await rig.create<Pod>(PODS, namespace, podBody('static', { annotations }, { nodeName: 'nowhere' }));
    await scene.createRequest(pod);
    const first = { metadata: { name: 'pod-1-static', namespace } };
    const responder = 'nowhere.static.nodemaintenance.x-k8s.io/kubelet';
    const { status } = await scene.untilEviction(first, 'the agent of its node has its turn', (each) =>
      says(each, AWAITING),
    );
    assert.deepEqual(status?.targetResponders, [{ name: responder, priority: 10_000, state: 'Active' }]);
    const now = await rig.get<Pod>(PODS, namespace, 'static');
    assert.equal(now?.metadata.deletionTimestamp, undefined);
  });
}

function addKitCase(rigOf: () => LifecycleRig, scene: Scene): void {
  it('a responder made with the kit is asked first, works, and passes on to the Eviction API', async () => {
    const rig = rigOf();
    const namespace = await scene.newNamespace();
    const responder = 'databases.example.com/backup';
    const client = await responderClient(rig, responder);
    const stopping = new AbortController();
    let looks = 0;
    const running = runResponder(
      {
        name: 'databases.example.com',
        act: () => {
          looks += 1;
          return Promise.resolve(
            looks < 3
              ? { kind: 'working', message: `backup: step ${looks}`, againMs: 200 }
              : { kind: 'completed', message: 'backup is done' },
          );
        },
      },
      { responder },
      { client, clock: createSystemClock(), log: createLog('error', 'kit') },
      stopping.signal,
    );
    try {
      const evictionResponders = [{ name: responder, priority: 10_000 }];
      const pod = await createRunningPod(rig, namespace, podBody('db', {}, { evictionResponders }));
      const request = await scene.createRequest(pod);
      await scene.untilRequest(request, DELETED, 1);
      const { status } = (await rig.get<Eviction>(EVICTIONS, namespace, 'pod-1-db')) ?? { status: undefined };
      const turns = status?.targetResponders?.map(({ name, state }) => `${name} ${state}`);
      assert.deepEqual(turns, [`${responder} Completed`, `${EVICTOR} Completed`]);
      assert.equal(status?.responders?.[0]?.message, 'backup is done');
    } finally {
      stopping.abort();
      await running;
      client.close();
    }
  });
}

/** Adds the cases; a controller has to run with `lifecycleApi: 'on'`. */
export function addProductCases(rigOf: () => LifecycleRig, scene: Scene): void {
  addWholeCase(rigOf, scene);
  addMirrorCase(rigOf, scene);
  addKitCase(rigOf, scene);
}

/** Adds what a user with the rights of the responder A tries on the status of others. */
export function addIdentityCases(rigOf: () => LifecycleRig, scene: Scene): void {
  it('a responder may change its own entry, and nothing that is of the controller or of another responder', async () => {
    const rig = rigOf();
    const namespace = await scene.newNamespace();
    const now = rfc3339(Date.now());
    const pod = { metadata: { name: 'web', namespace, uid: crypto.randomUUID() }, spec: {} };
    const target = { pod: { name: 'web', uid: pod.metadata.uid } };
    const eviction = await rig.create<Eviction>(EVICTIONS, namespace, {
      metadata: { name: 'victim' },
      spec: { target },
    });
    const request = await scene.createRequest(pod);
    const targetResponders = [
      { name: B, priority: 2000, state: 'Active' },
      { name: A, priority: 1000, state: 'Inactive' },
    ];
    const responders = [{ name: B, startTime: now }, { name: A }];
    await rig.patch(EVICTIONS, eviction, { status: { observedGeneration: 1, targetResponders, responders } }, 'status');
    const [mine, other] = [await responderClient(rig, B), await responderClient(rig, A)];
    const write = async (client: KubeClient, status: object): Promise<KubeResponse> => {
      const path = objectPath(EVICTIONS, eviction.metadata, 'status');
      return await client.send({ method: 'PATCH', path, body: { status }, patch: { kind: 'merge' } }, never);
    };
    const failed = { type: 'Failed', status: 'True', reason: 'X', message: '', lastTransitionTime: now };
    const states = (b: string, a: string): object[] => [
      { ...targetResponders[0], state: b },
      { ...targetResponders[1], state: a },
    ];
    const entry = (more: object): object => ({ responders: [{ ...responders[0], ...more }, { name: A }] });
    const ATTACKS: readonly (readonly [string, KubeClient, object])[] = [
      ['completes the turn of another responder', other, entry({ completionTime: now })],
      ['speaks for another responder', other, entry({ heartbeatTime: now, message: 'all is well' })],
      ['ends the Eviction', mine, { conditions: [failed], targetResponders: states('Canceled', 'Inactive') }],
      ['names a requester', mine, { requesters: [{ name: 'x.example.com/y', intent: 'Eviction' }] }],
      ['sets the observed generation', mine, { observedGeneration: 2 }],
      ['adds a condition of its own', mine, { conditions: [{ ...failed, type: 'Mine' }] }],
    ];
    // The API server learns of new policies and rights within seconds.
    const isEnforced = async (): Promise<boolean> => (await write(other, entry({ message: 'x' }))).status === 403;
    await waitFor('the policy is enforced', isEnforced);
    for (const [what, client, status] of ATTACKS) {
      const answer = await write(client, status);
      assert.equal(answer.status, 403, `${what}: ${answer.status} ${statusMessage(answer)}`);
      assert.match(statusMessage(answer), /may not report as|only the controller of Evictions/, what);
    }
    const path = objectPath(LIFECYCLE_REQUESTS, request.metadata, 'status');
    const said = { status: { conditions: [failed] } };
    const answer = await mine.send({ method: 'PATCH', path, body: said, patch: { kind: 'merge' } }, never);
    assert.equal(answer.status, 403);
    const own = await write(mine, entry({ heartbeatTime: now, message: 'working' }));
    assert.equal(own.status, 200, statusMessage(own));
    mine.close();
    other.close();
  });
}

/** Adds the case that leaves traces: it has to be the last one. */
export function addUpstreamCase(rigOf: () => LifecycleRig, scene: Scene): void {
  it('the controller leaves everything to the evictionrequest-controller of Kubernetes once that has written', async () => {
    const rig = rigOf();
    const namespace = await scene.newNamespace();
    const pod = await createRunningPod(rig, namespace, podBody('web'));
    const eviction = await rig.create<Eviction>(EVICTIONS, namespace, {
      metadata: { name: 'theirs' },
      spec: { target: { pod: { name: 'other', uid: crypto.randomUUID() } } },
    });
    const path = `${objectPath(EVICTIONS, eviction.metadata, 'status')}?fieldManager=evictionrequest-controller`;
    await rig.send({ method: 'PATCH', path, body: { status: { observedGeneration: 1 } }, patch: { kind: 'merge' } });
    await rig.startController();
    const request = await scene.createRequest(pod);
    await delay(3_000);
    const now = await rig.get<LifecycleRequest>(LIFECYCLE_REQUESTS, namespace, request.metadata.name);
    assert.equal(now?.status?.observedGeneration, undefined);
    assert.equal(await rig.get<Eviction>(EVICTIONS, namespace, 'pod-1-web'), undefined);
  });
}
