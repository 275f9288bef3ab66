/** Drains by `lifecycle.k8s.io`: the worked examples of KEP-4563, and clusters that are moved from one dialect to the other. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { EvictionRequest } from '../../../src/api/eviction-request.ts';
import { DRAIN_REQUESTER, type Eviction, type ResponderState } from '../../../src/api/lifecycle.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { EVICTION_REQUESTS, objectPath } from '../../../src/kube/resource.ts';
import {
  buildLifecycleRig,
  createRunningPod,
  EVICTIONS,
  LIFECYCLE_REQUESTS,
  type LifecycleRig,
  podBody,
  PODS,
} from '../../support/rigs/lifecycle.ts';
import { SLOW, waitFor } from '../../support/wait-for.ts';
import { addForeignCases } from './foreign-cases.ts';
import { addLookCases } from './look-cases.ts';
import { addStoppedCase } from './stopped-case.ts';
import { A, B, createScene, DELETED, EVICTOR, NO_REQUESTERS, report, says } from './scene.ts';

const DESCHEDULER = 'descheduling.example.com/zone';
const ACTORS = [
  { name: B, priority: 2000 },
  { name: A, priority: 1000 },
];

function statesOf({ status }: Eviction): readonly (readonly [string, ResponderState])[] {
  return (status?.targetResponders ?? []).map(({ name, state }) => [name, state]);
}

function isActive(eviction: Eviction, responder: string): boolean {
  return statesOf(eviction).some(([name, state]) => name === responder && state === 'Active');
}

describe('a drain by lifecycle.k8s.io', () => {
  let rig: LifecycleRig;
  let stopLifecycle: () => Promise<void>;
  const scene = createScene(() => rig);
  const kubectl = async (args: readonly string[], stdin?: string): Promise<string> =>
    await rig.controlPlane.kubectl(args, stdin);

  before(async () => {
    rig = await buildLifecycleRig();
    stopLifecycle = await rig.startLifecycle();
  });

  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  const apply = async (object: object): Promise<void> => {
    await kubectl(['apply', '-f', '-'], JSON.stringify(object));
  };

  const createNode = async (name: string): Promise<void> => {
    await apply({ apiVersion: 'v1', kind: 'Node', metadata: { name, labels: { only: name } } });
  };

  /** Begins the maintenance of a node. */
  const drain = async (node: string, spec: object = {}): Promise<void> => {
    const only = { matchExpressions: [{ key: 'only', operator: 'In', values: [node] }] };
    const nodeSelector = { nodeSelectorTerms: [only] };
    const metadata = { name: `of-${node}` };
    const kind = { apiVersion: 'nodemaintenance.x-k8s.io/v1alpha1', kind: 'NodeMaintenance' };
    await apply({ ...kind, metadata, spec: { stage: 'Drain', reason: 'test', nodeSelector, ...spec } });
  };

  const cordon = async (node: string): Promise<string> =>
    await kubectl(['get', 'node', node, '-o', 'jsonpath={.spec.unschedulable}']);

  /** Nobody else ends pods of a node without a kubelet: they have no grace period. */
  const createPod = async (namespace: string, name: string, spec: object, metadata: object = {}): Promise<Pod> => {
    const own = { terminationGracePeriodSeconds: 0, ...spec };
    return await createRunningPod(rig, namespace, podBody(name, { labels: { app: name }, ...metadata }, own));
  };

  const firstOf = (namespace: string, pod: string): { metadata: { name: string; namespace: string } } => ({
    metadata: { name: `pod-1-${pod}`, namespace },
  });

  const exists = async (resource: typeof EVICTIONS, namespace: string, name: string): Promise<boolean> =>
    (await rig.get(resource, namespace, name)) !== undefined;

  it('the example "Multiple Dynamic Requesters and No EvictionRequest Cancellation" runs step by step', async () => {
    const stop = await rig.startController();
    const namespace = await scene.newNamespace();
    await createNode('z1');
    const pod = await createPod(namespace, 'p-1', { nodeName: 'z1', evictionResponders: ACTORS });
    const uid = pod.metadata.uid ?? '';
    await drain('z1');
    await waitFor('the drain asks', () => exists(LIFECYCLE_REQUESTS, namespace, uid));
    assert.equal(await cordon('z1'), 'true');
    const other = await scene.createRequest(pod, DESCHEDULER);
    const first = firstOf(namespace, 'p-1');
    let eviction = await scene.untilEviction(first, 'B has its turn, for both', (each) => {
      return isActive(each, B) && each.status?.requesters?.length === 2;
    });
    await rig.respond(eviction, report(B, false));
    await kubectl(['delete', 'nm', 'of-z1', '--timeout=30s']);
    assert.equal(await cordon('z1'), '');
    eviction = await scene.untilEviction(first, 'the drain has withdrawn', ({ status }) => {
      return (
        status?.requesters?.some(({ name, intent }) => name === DRAIN_REQUESTER && intent === 'Withdrawn') === true
      );
    });
    assert.ok(isActive(eviction, B), 'another requester is left: no action is required');
    await rig.respond(eviction, report(B, true));
    eviction = await scene.untilEviction(first, 'A has its turn', (each) => isActive(each, A));
    await kubectl(['delete', 'pod', 'p-1', '-n', namespace, '--wait=false']);
    await rig.respond(eviction, report(A, true));
    eviction = await scene.untilEviction(first, 'the pod has left', (each) => says(each, DELETED), 15_000);
    assert.deepEqual(statesOf(eviction), [
      [B, 'Completed'],
      [A, 'Completed'],
      [EVICTOR, 'Inactive'],
    ]);
    await rig.send({ method: 'DELETE', path: objectPath(LIFECYCLE_REQUESTS, other.metadata) });
    const isClean = async (): Promise<boolean> => {
      const left = [exists(EVICTIONS, namespace, 'pod-1-p-1'), exists(LIFECYCLE_REQUESTS, namespace, uid)];
      return !(await Promise.all(left)).includes(true);
    };
    await waitFor('nothing is left', isClean, SLOW);
    await stop();
  });

  it('the example "Single Dynamic Requester and EvictionRequest Cancellation" runs step by step', async () => {
    const stop = await rig.startController();
    const namespace = await scene.newNamespace();
    await createNode('z2');
    const pod = await createPod(namespace, 'p-1', { nodeName: 'z2', evictionResponders: ACTORS });
    await drain('z2');
    const first = firstOf(namespace, 'p-1');
    const eviction = await scene.untilEviction(first, 'B has its turn', (each) => isActive(each, B), 15_000);
    assert.equal(await cordon('z2'), 'true');
    await rig.respond(eviction, report(B, false));
    // The garbage collector would take it before the test can look.
    await rig.patch(EVICTIONS, eviction, { metadata: { finalizers: ['hold.example.com/x'] } });
    await kubectl(['delete', 'nm', 'of-z2', '--timeout=30s']);
    assert.equal(await cordon('z2'), '');
    const canceled = await scene.untilEviction(first, 'the Eviction is canceled', (each) => says(each, NO_REQUESTERS));
    assert.deepEqual(statesOf(canceled), [
      [B, 'Canceled'],
      [A, 'Inactive'],
      [EVICTOR, 'Inactive'],
    ]);
    const now = await rig.get<Pod>(PODS, namespace, 'p-1');
    assert.equal(now?.metadata.uid, pod.metadata.uid);
    assert.equal(now?.metadata.deletionTimestamp, undefined);
    const isGivenBack = async (): Promise<boolean> =>
      !(await exists(LIFECYCLE_REQUESTS, namespace, pod.metadata.uid ?? ''));
    await waitFor('the request is given back', isGivenBack, SLOW);
    await rig.patch(EVICTIONS, eviction, { metadata: { finalizers: null } });
    await stop();
  });

  it('the mark of a pod for its controller stays while anybody asks for the pod, and is removed when nobody does', async () => {
    const stop = await rig.startController();
    const namespace = await scene.newNamespace();
    await createNode('z5');
    const annotations = { 'coordination.x-k8s.io/evict-policy': 'ControllerTakeOver' };
    const ofDrain = await createPod(namespace, 'of-drain', { nodeName: 'z5' }, { annotations });
    const other = await createPod(namespace, 'of-other', { nodeName: 'nowhere' }, { annotations });
    const isMarked = async ({ metadata: { name } }: Pod): Promise<boolean> => {
      const now = await rig.get<Pod>(PODS, namespace, name);
      return now?.metadata.annotations?.['kubernetes.io/pod-evict-wanted'] === 'true';
    };
    await drain('z5');
    const request = await scene.createRequest(other, DESCHEDULER);
    for (const pod of [ofDrain, other]) {
      await waitFor(`${pod.metadata.name} is marked`, () => isMarked(pod), SLOW);
      const said = ({ status }: Eviction): boolean =>
        status?.responders?.some(({ message }) => message?.includes('is left to its controller') === true) === true;
      await scene.untilEviction(firstOf(namespace, pod.metadata.name), 'the evictor waits for its controller', said);
    }
    // A mark that is taken back wrongly is so at once, by the event of the write that has set it.
    await delay(2_000);
    assert.deepEqual(await Promise.all([ofDrain, other].map(isMarked)), [true, true]);
    await kubectl(['patch', 'nm', 'of-z5', '--type=merge', '-p', '{"spec":{"stage":"Complete"}}']);
    await scene.withIntent(request, 'Withdrawn');
    for (const pod of [ofDrain, other]) {
      await waitFor(`${pod.metadata.name} has no mark any more`, async () => !(await isMarked(pod)), SLOW);
      assert.ok(await exists(PODS, namespace, pod.metadata.name));
    }
    await stop();
  });

  it('a cluster is moved to the newer dialect in mid-drain, and back, and no eviction under way begins again', async () => {
    const namespace = await scene.newNamespace();
    await createNode('z3');
    for (const value of [500, 1500, 2500]) {
      await apply({
        apiVersion: 'scheduling.k8s.io/v1',
        kind: 'PriorityClass',
        metadata: { name: `q${value}` },
        value,
      });
    }
    const on = (value: number): object => ({ nodeName: 'z3', priorityClassName: `q${value}` });
    const annotations = { 'interceptor.evictionrequest.coordination.k8s.io/priority_x.example.com': '20000/x' };
    const one = await createPod(namespace, 'one', on(500), { annotations });
    await createPod(namespace, 'two', { ...on(1500), evictionResponders: ACTORS });
    const three = await createPod(namespace, 'three', on(2500));
    const older = async (pod: Pod): Promise<EvictionRequest | undefined> =>
      await rig.get<EvictionRequest>(EVICTION_REQUESTS, namespace, pod.metadata.uid ?? '');
    const isGone = async (name: string): Promise<boolean> => (await rig.get<Pod>(PODS, namespace, name)) === undefined;
    const drainPlan = [1000, 2000, 3000].map((podPriority) => ({ podType: 'Default', podPriority }));

    let stop = await rig.startController({ lifecycleApi: 'off' });
    await drain('z3', { drainPlan });
    const isAsked = async (): Promise<boolean> =>
      (await older(one))?.status?.activeInterceptors?.[0] === 'x.example.com';
    await waitFor('the interceptor of the first pod has its turn', isAsked, SLOW);
    const begun = await older(one);
    await stop();

    stop = await rig.startController({ lifecycleApi: 'on' });
    const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
    const entry = { name: 'x.example.com', startTime: now, heartbeatTime: now, completionTime: now, message: 'done' };
    const known = await older(one);
    assert.equal(known?.metadata.uid, begun?.metadata.uid);
    assert.ok(known);
    const interceptors = (known.status?.interceptors ?? []).map((each) => (each.name === entry.name ? entry : each));
    await rig.patch(EVICTION_REQUESTS, known, { status: { interceptors } }, 'status');
    await waitFor('the first pod has left by the older dialect', () => isGone('one'), SLOW);
    const first = firstOf(namespace, 'two');
    const active = await scene.untilEviction(first, 'B has its turn', (each) => isActive(each, B), 30_000);
    await rig.respond(active, report(B, false));
    await stop();

    stop = await rig.startController({ lifecycleApi: 'off' });
    let eviction = await scene.untilEviction(first, 'B works on', (each) => isActive(each, B));
    assert.equal(eviction.metadata.uid, active.metadata.uid);
    await rig.respond(eviction, report(B, true));
    eviction = await scene.untilEviction(first, 'A has its turn', (each) => isActive(each, A), 30_000);
    await rig.respond(eviction, report(A, true));
    await waitFor('the second pod has left by the newer dialect', () => isGone('two'), SLOW);
    await waitFor('the third pod has left', () => isGone('three'), SLOW);
    await kubectl(['wait', '--for=condition=Drained', 'nm/of-z3', '--timeout=60s']);
    assert.ok(await older(three), 'the third pod has left by the older dialect');
    assert.equal(await exists(EVICTIONS, namespace, 'pod-1-three'), false);
    assert.equal(await exists(EVICTIONS, namespace, 'pod-1-one'), false);
    await kubectl(['delete', 'nm', 'of-z3', '--timeout=60s']);
    const isClean = async (): Promise<boolean> =>
      (await kubectl(['get', 'evictionrequests.lifecycle.k8s.io', '-n', namespace, '-o', 'name'])) === '';
    await waitFor('the requests are given back', isClean, SLOW);
    await stop();
  });

  addForeignCases({ rigOf: () => rig, scene, createNode, createPod, drain });
  addLookCases({ rigOf: () => rig, scene, createNode, createPod, drain });

  describe('without the add-on', () => {
    before(async () => {
      await stopLifecycle();
    });
    addStoppedCase({ rigOf: () => rig, scene, createNode, createPod, drain });
  });

  it('the API server refuses none of the writes', async () => {
    const { count, refused } = await rig.writes();
    assert.deepEqual(refused, []);
    assert.ok(count > 10, `only ${count} writes were seen`);
  });
});
