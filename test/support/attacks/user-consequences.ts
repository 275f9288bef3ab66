/** What the API server does not refuse a user, and what the product itself sees to. */
import assert from 'node:assert/strict';
import { createSelfGates } from '../../../src/agent/drain/gates.ts';
import type { EvictionRequest } from '../../../src/api/eviction-request.ts';
import { HELD_FOR_LABEL, MAINTENANCE_REQUESTER, NODE_LABEL } from '../../../src/api/names.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { isFinished } from '../../../src/decide/eviction/request.ts';
import { createSystemClock } from '../../../src/host/clock.ts';
import { collectionPath, DAEMON_SETS, EVICTION_REQUESTS, objectPath, PODS } from '../../../src/kube/resource.ts';
import { requestFor } from '../rigs/admission.ts';
import { assertRefusedBy, type Attack, policy, sendAs } from './attack.ts';
import { dry, heldBody, OTHER_TEAM, podBody, RELEASE, type Scene, TEAM } from './scene.ts';
import { make } from './steps.ts';
import { SILENT_LOG } from '../silent-log.ts';
import { waitFor } from '../wait-for.ts';

const MANY = 1_000;
const INTERCEPTOR_PREFIX = 'interceptor.evictionrequest.coordination.k8s.io/priority_';

async function readRequest(scene: Scene, meta: { name: string; namespace: string }): Promise<EvictionRequest> {
  const { body } = await sendAs(scene.clients.admin, { method: 'GET', path: objectPath(EVICTION_REQUESTS, meta) });
  return body as EvictionRequest;
}

/** A pod of the team on node n1, and its EvictionRequest, which the editor has made. */
async function requested(
  scene: Scene,
  name: string,
  annotations: object = {},
): Promise<{ name: string; namespace: string }> {
  const pods = collectionPath(PODS, TEAM);
  const pod = await make<Pod>(scene, 'editor', pods, podBody(name, { annotations }, { nodeName: 'n3' }));
  const meta = { name: pod.metadata.uid ?? '', namespace: TEAM };
  await make(scene, 'editor', collectionPath(EVICTION_REQUESTS, TEAM), requestFor(name, meta.name, {}, meta));
  await waitFor(
    'the controller begins',
    async () => (await readRequest(scene, meta)).status?.activeInterceptors !== undefined,
  );
  return meta;
}

async function patch(scene: Scene, meta: { name: string; namespace: string }, body: object): Promise<void> {
  const path = objectPath(EVICTION_REQUESTS, meta);
  const answer = await sendAs(scene.clients.editor, { method: 'PATCH', path, body, patch: { kind: 'merge' } });
  assert.equal(answer.status, 200, 'the API server does not refuse it');
}

export const USER_CONSEQUENCES: readonly Attack[] = [
  {
    name: 'asks for the eviction of a pod by a UID that it does not have',
    refusedBy: 'controller: cancels the request',
    attempt: async (scene) => {
      await make(scene, 'editor', collectionPath(PODS, TEAM), podBody('kept', {}, { nodeName: 'n3' }));
      const meta = { name: crypto.randomUUID(), namespace: TEAM };
      await make(scene, 'editor', collectionPath(EVICTION_REQUESTS, TEAM), requestFor('kept', meta.name, {}, meta));
      await waitFor('it is over', async () => {
        const { status } = await readRequest(scene, meta);
        return status?.conditions?.some((each) => each.type === 'Canceled' && each.status === 'True') === true;
      });
      const path = objectPath(PODS, { name: 'kept', namespace: TEAM });
      const { body } = await sendAs(scene.clients.admin, { method: 'GET', path });
      assert.equal((body as Pod).metadata.deletionTimestamp, undefined);
    },
  },
  {
    name: 'makes a request that says of itself that it is over',
    refusedBy: 'CRD: a new object has no status',
    attempt: async (scene) => {
      const conditions = [
        { type: 'Evicted', status: 'True', reason: 'X', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
      ];
      const body = { ...requestFor('web-2', crypto.randomUUID(), {}, { namespace: TEAM }), status: { conditions } };
      const path = collectionPath(EVICTION_REQUESTS, TEAM);
      const answer = await sendAs(scene.clients.editor, dry('POST', path, { body }));
      assert.equal(answer.status, 201);
      assert.equal((answer.body as EvictionRequest).status, undefined);
    },
  },
  {
    name: 'withdraws the wish of a maintenance that its pod leaves',
    refusedBy: 'controller: asks for it again',
    attempt: async (scene) => {
      // Its interceptor takes its time: a pod that is leaving already would need no request any more.
      const annotations = { [`${INTERCEPTOR_PREFIX}actor.example.com`]: '100000/x' };
      const body = podBody('asked-again', { annotations }, { nodeName: 'n2' });
      const { metadata } = await make<Pod>(scene, 'editor', collectionPath(PODS, TEAM), body);
      const meta = { name: metadata.uid ?? '', namespace: TEAM };
      const asks = async (): Promise<boolean> => {
        const request = await readRequest(scene, meta);
        return (
          !isFinished(request) && request.spec.requesters?.some(({ name }) => name === MAINTENANCE_REQUESTER) === true
        );
      };
      await waitFor('the maintenance asks', asks);
      await patch(scene, meta, { spec: { requesters: [] } });
      await waitFor('it asks again', asks);
    },
  },
  {
    name: 'gives a request to the agent of another node by the label',
    refusedBy: 'controller: sets the label back',
    attempt: async (scene) => {
      const meta = await requested(scene, 'label');
      await patch(scene, meta, { metadata: { labels: { [NODE_LABEL]: 'n2' } } });
      await waitFor('it is of n3', async () => (await readRequest(scene, meta)).metadata.labels?.[NODE_LABEL] === 'n3');
    },
  },
  {
    name: 'names a thousand interceptors and reserved ones',
    refusedBy: 'controller: takes 15 at most, of the reserved names those on the list',
    attempt: async (scene) => {
      const names = Array.from({ length: MANY }, (_, at) => `i-${at}.example.com`);
      const all = [...names, 'mallory.k8s.io', 'evil.kubernetes.io', 'no-domain'];
      const meta = await requested(
        scene,
        'many',
        Object.fromEntries(all.map((name) => [`${INTERCEPTOR_PREFIX}${name}`, '100000/x'])),
      );
      const targets = (await readRequest(scene, meta)).status?.targetInterceptors?.map(({ name }) => name) ?? [];
      assert.equal(targets.length, 15);
      assert.equal(targets.at(-1), 'imperative-eviction.k8s.io');
      assert.ok(targets.slice(0, 14).every((name) => name.endsWith('.example.com')));
    },
  },
];

/** What it tries while no controller is alive; a controller would release gated pods itself. */
export const USER_AGAINST_AGENTS: readonly Attack[] = [
  {
    name: "gives a pod the label held-for, so that a node's agent deletes it",
    refusedBy: 'policy nodemaint-held-pods',
    attempt: async (scene) => {
      await make(
        scene,
        'editor',
        collectionPath(PODS, TEAM),
        podBody('trap', { labels: { [HELD_FOR_LABEL]: 'n1' } }, { schedulingGates: [{ name: 'example.com/x' }] }),
      );
      const path = `${collectionPath(PODS, TEAM)}?fieldSelector=metadata.name%3Dtrap`;
      const answer = await sendAs(scene.clients.n1, { ...dry('DELETE', path), as: RELEASE });
      assertRefusedBy(
        answer,
        policy('nodemaint-held-pods', /only delete pods that the gate of a maintenance keeps from starting/u),
      );
    },
  },
  {
    name: 'gives a pod that label, so that the pods of other namespaces stay held',
    refusedBy: 'agent: a namespace that is refused keeps no other one',
    attempt: async (scene) => {
      // Agents ask in the namespaces of DaemonSets alone.
      for (const namespace of [TEAM, OTHER_TEAM]) {
        const spec = { nodeSelector: { none: 'none' }, containers: [{ name: 'main', image: 'none.invalid/none' }] };
        const labels = { app: 'none' };
        const template = { metadata: { labels }, spec };
        await make(scene, 'admin', collectionPath(DAEMON_SETS, namespace), {
          apiVersion: 'apps/v1',
          kind: 'DaemonSet',
          metadata: { name: 'none' },
          spec: { selector: { matchLabels: labels }, template },
        });
      }
      await make(scene, 'admin', collectionPath(PODS, OTHER_TEAM), heldBody('held', 'n1'));
      const refusals: string[] = [];
      const dependencies = {
        client: scene.clients.n1,
        clock: createSystemClock(),
        log: { ...SILENT_LOG, warn: (fields: object) => refusals.push(JSON.stringify(fields)) },
        nodeName: 'n1',
        onChange: () => undefined,
      };
      const gates = createSelfGates(dependencies);
      gates.arm();
      await gates.release(AbortSignal.timeout(30_000));
      assert.equal(gates.isArmed(false), true, 'it is tried again');
      const path = objectPath(PODS, { name: 'held', namespace: OTHER_TEAM });
      assert.equal((await sendAs(scene.clients.admin, { method: 'GET', path })).status, 404, refusals.join());
    },
  },
];
