import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AGENT_LABEL, EVICT_ONLY_ANNOTATION, SHUTDOWN_KIND_ANNOTATION } from '../../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import type { Node, Pod } from '../../../../src/api/pod.ts';
import { createImperativeEviction } from '../../../../src/controller/eviction/imperative.ts';
import type { KubeRequest, KubeResponse } from '../../../../src/kube/client.ts';
import { type Answer, createEvictionScene, type EvictionScene } from '../../../support/eviction/scene.ts';
import { drainOf } from '../../../support/maintenance/objects.ts';

const IMPERATIVE = 'imperative-eviction.k8s.io';
const CAUSE = {
  reason: 'DisruptionBudget',
  message: 'The disruption budget web needs 1 healthy pods and has 1 currently',
};
const REFUSED: Answer = {
  status: 429,
  body: { message: "Cannot evict pod as it would violate the pod's disruption budget.", details: { causes: [CAUSE] } },
};
const BY_WEBHOOK: Answer = { status: 429, body: { message: 'admission webhook "v" denied the request: not now' } };
const LOOK_MS = 5_000;

interface Given {
  readonly pod?: Partial<Pod['metadata']>;
  readonly maintenance?: NodeMaintenance;
  readonly others?: readonly Node[];
  readonly answer?: Answer;
  readonly deletion?: Partial<KubeResponse>;
}

function node(name: string, spec: Node['spec'] = {}): Node {
  const conditions = [{ type: 'Ready', status: 'True' }] as const;
  return { metadata: { name, creationTimestamp: '2025-01-01T00:00:00Z' }, spec, status: { conditions } };
}

/** The shutdown of the node n, as its agent makes it. */
function shutdown(annotations: Record<string, string> = {}, status: NodeMaintenance['status'] = {}): NodeMaintenance {
  const drain = drainOf('shutdown-n-0', ['n']);
  const targets = [{ podType: 'Default', podPriority: 2_147_483_647 }] as const;
  return {
    ...drain,
    metadata: { ...drain.metadata, labels: { [AGENT_LABEL]: 'n' }, annotations },
    status: {
      nodeStatuses: [{ nodeRef: { name: 'n' }, drainTargets: targets, drainStartTime: '2026-01-01T00:00:00Z' }],
      ...status,
    },
  };
}

/** A pod with a budget that has no room on the node n, beside what is given. */
function sceneOf({ pod = {}, maintenance, others = [], answer = REFUSED }: Given): EvictionScene & { key: string } {
  const scene = createEvictionScene();
  const metadata = { name: 'web', namespace: 'default', uid: 'u', labels: { app: 'web' }, ...pod };
  const { namespace } = metadata;
  for (const each of [node('n'), ...others]) scene.nodes.set(each.metadata.name, each);
  if (maintenance !== undefined) scene.maintenances.set(maintenance.metadata.name, maintenance);
  const selector = { matchLabels: metadata.labels };
  scene.budgets.set(`${namespace}/web`, { metadata: { name: 'web', namespace }, spec: { selector } });
  scene.evictionAnswer = () => answer;
  const target = { pod: { name: 'web', uid: 'u' } };
  const active = {
    targetInterceptors: [{ name: IMPERATIVE }],
    activeInterceptors: [IMPERATIVE],
    processedInterceptors: [],
  };
  const key = scene.put(
    {
      metadata: { name: 'u', namespace, uid: 'r', creationTimestamp: '2026-01-01T00:00:00Z' },
      spec: { target, requesters: [{ name: 'x.example.com' }] },
      status: { ...active, interceptors: [{ name: IMPERATIVE, message: '' }] },
    },
    { metadata, spec: { nodeName: 'n', terminationGracePeriodSeconds: 60 } },
  );
  return Object.assign(scene, { key });
}

/** When the pod is deleted, in seconds; undefined where it is not in five minutes. */
async function deletedAfter(
  given: Given,
): Promise<{ readonly sec: number | undefined; readonly scene: EvictionScene }> {
  const scene = sceneOf(given);
  const send = async (request: KubeRequest, signal: AbortSignal): Promise<KubeResponse> => {
    const answer = await scene.context.client.send(request, signal);
    return request.method === 'DELETE' ? { ...answer, body: {}, ...given.deletion } : answer;
  };
  const context = { ...scene.context, client: { ...scene.context.client, send } };
  const step = scene.loop(createImperativeEviction(context));
  for (let ms = 0; ms <= 300_000; ms += LOOK_MS) {
    await step(scene.key);
    const isDeleted = scene.sent.some(({ method }) => method === 'DELETE');
    if (isDeleted && given.deletion === undefined) return { sec: ms / 1000, scene };
    scene.clock.pass(LOOK_MS);
  }
  return { sec: undefined, scene };
}

const REBOOT = { [SHUTDOWN_KIND_ANNOTATION]: 'reboot' };
const WAITING = { nodeStatuses: [{ nodeRef: { name: 'n' } }] } as const;
const TAINTED = { taints: [{ key: 'gpu', effect: 'NoSchedule' }] };

const CASES: readonly (Given & { readonly title: string; readonly sec: number | undefined })[] = [
  { title: 'the only machine goes down', maintenance: shutdown(), sec: 60 },
  { title: 'the only machine reboots', maintenance: shutdown(REBOOT), sec: 60 },
  { title: 'a reboot waits for its turn', maintenance: shutdown(REBOOT, WAITING), sec: undefined },
  { title: 'a person drains the only node', maintenance: drainOf('person', ['n']), sec: undefined },
  { title: 'another node stays', maintenance: shutdown(), others: [node('n2')], sec: undefined },
  {
    title: 'another node is cordoned',
    maintenance: shutdown(),
    others: [node('n2', { unschedulable: true })],
    sec: undefined,
  },
  { title: 'another node is tainted for others', maintenance: shutdown(), others: [node('n2', TAINTED)], sec: 60 },
  { title: 'a webhook refuses the eviction', maintenance: shutdown(), answer: BY_WEBHOOK, sec: undefined },
  {
    title: 'the eviction is only to be asked for, and nobody promises it',
    maintenance: shutdown(),
    pod: { annotations: { [EVICT_ONLY_ANNOTATION]: '' } },
    sec: 60,
  },
  {
    title: 'a replica of the controller leaves in the drain of a person',
    maintenance: drainOf('person', ['n']),
    others: [node('n2')],
    pod: { namespace: 'nodemaint-system', labels: { 'app.kubernetes.io/name': 'nodemaint-controller' } },
    sec: 0,
  },
];

describe('a pod whose eviction a PodDisruptionBudget refuses', () => {
  for (const { title, sec, ...given } of CASES) {
    it(`${title}: it is ${sec === undefined ? 'never deleted' : `deleted after ${sec} s`}`, async () => {
      assert.equal((await deletedAfter(given)).sec, sec);
    });
  }

  it('the deletion has the UID of the pod and no grace period, and Events and the metric say what it was', async () => {
    const { scene } = await deletedAfter({ maintenance: shutdown() });
    const [deletion] = scene.sent.filter(({ method }) => method === 'DELETE');
    assert.deepEqual(deletion?.body, { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid: 'u' } });
    assert.deepEqual(scene.events.slice(-2), ['BudgetNotAsked', 'BudgetNotAsked']);
    assert.equal(scene.attempts.at(-1), 'budget-not-asked');
  });

  it('an API server that refuses the deletion, for instance by older policies, leaves the pod blocked and says so', async () => {
    const deletion = { status: 403, body: { message: 'denied by a policy' } };
    const { scene } = await deletedAfter({ maintenance: shutdown(), deletion });
    assert.equal(scene.attempts.at(-1), 'blocked');
    const written = scene.sent.filter(({ method }) => method === 'PATCH').map(({ body }) => JSON.stringify(body));
    assert.match(
      written.at(-1) ?? '',
      /is not asked: node n goes down.*The deletion of the pod is refused.*denied by a policy/,
    );
  });
});
