/** The cases of test/integration/imperativeevictionresponder of kubernetes/kubernetes#137396, by their names. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  type Eviction,
  FAILED,
  type ResponderState,
  type ResponderStatus,
  TARGET_EVICTED,
} from '../../../../src/api/lifecycle.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { rfc3339 } from '../../../../src/decide/time.ts';
import { DISRUPTION_BUDGETS } from '../../../../src/kube/resource.ts';
import { EVICTIONS, type LifecycleRig, podBody, PODS } from '../../../support/rigs/lifecycle.ts';
import { EVICTOR, holdsFor } from '../../lifecycle/scene.ts';

const FOO = 'foo/bar';
/** Upstream looks twice a second, for as long as nothing may happen. */
const LOOK_MS = 500;
const SKIPPED_MS = 3_000;
/** After a refused attempt upstream makes the next one within its first pause, 5 s, and 3 s to act. */
const SECOND_ATTEMPT_MS = 8_000;
/**
 * For everything else upstream's times, 3 to 10 s, are no behaviour of an evictor: here they are longer, for the API server and
 * the tests share a machine with others.
 */
const ANSWER_MS = 20_000;

function entryOf(eviction: Eviction): ResponderStatus | undefined {
  return eviction.status?.responders?.find(({ name }) => name === EVICTOR);
}

function condition(type: string, reason: string): object {
  return { type, status: 'True', observedGeneration: 1, lastTransitionTime: rfc3339(Date.now()), reason, message: 'm' };
}

/** A status with the evictor alone, as upstream's cases play the controller. */
function statusOf(state: ResponderState, more: object = {}): object {
  return {
    observedGeneration: 1,
    targetResponders: [{ name: EVICTOR, priority: 100, state }],
    responders: [{ name: EVICTOR, startTime: rfc3339(Date.now()) }],
    ...more,
  };
}

/** Makes an Eviction of the pod with a status, under which it is processed or not. */
async function play(
  rig: LifecycleRig,
  { metadata: { name, namespace = '', uid } }: Pick<Pod, 'metadata'>,
  labels: Readonly<Record<string, string>>,
  status: object,
): Promise<Eviction> {
  const eviction = await rig.create<Eviction>(EVICTIONS, namespace, {
    apiVersion: 'lifecycle.k8s.io/v1alpha1',
    kind: 'Eviction',
    metadata: { name: 'foo', labels },
    spec: { target: { pod: { name, uid } } },
  });
  return await rig.patch(EVICTIONS, eviction, { status }, 'status');
}

const SKIPPED: readonly {
  readonly name: string;
  readonly label?: string;
  readonly status: () => object;
  readonly completed?: true;
}[] = [
  { name: 'should skip processing for a non-annotated eviction', status: () => statusOf('Active') },
  {
    name: 'should skip processing for incorrectly annotated eviction',
    label: 'requester',
    status: () => statusOf('Active'),
  },
  {
    name: 'should skip processing for non observed eviction',
    label: 'responder',
    status: () => statusOf('Active', { observedGeneration: null }),
  },
  {
    name: 'should skip processing for failed eviction',
    label: 'responder',
    status: () => statusOf('Inactive', { conditions: [condition(FAILED, 'EvictionInvalid')] }),
  },
  {
    name: 'should skip processing for evicted eviction',
    label: 'responder',
    status: () => statusOf('Inactive', { conditions: [condition(TARGET_EVICTED, 'PodDeleted')] }),
  },
  {
    name: 'should skip processing for inactive eviction',
    label: 'responder',
    status: () => ({
      observedGeneration: 1,
      targetResponders: [
        { name: FOO, priority: 1000, state: 'Active' },
        { name: EVICTOR, priority: 100, state: 'Inactive' },
      ],
      responders: [{ name: FOO, startTime: rfc3339(Date.now()) }, { name: EVICTOR }],
    }),
  },
  {
    name: 'should skip processing for eviction with completionTime',
    label: 'responder',
    status: () => {
      const now = rfc3339(Date.now());
      return statusOf('Active', { responders: [{ name: EVICTOR, startTime: now, completionTime: now }] });
    },
    completed: true,
  },
];

function addSkipCases(rig: () => LifecycleRig, newNamespace: () => Promise<string>): void {
  for (const { name, label, status, completed } of SKIPPED) {
    it(`Responder: ${name}`, async () => {
      const namespace = await newNamespace();
      const pod = await rig().create<Pod>(PODS, namespace, podBody('test-pod'));
      const labels = label === undefined ? {} : { app: 'bar', [EVICTOR]: label };
      const eviction = await play(rig(), pod, labels, status());
      await holdsFor({ ms: SKIPPED_MS, everyMs: LOOK_MS }, async () => {
        const now = await rig().get<Eviction>(EVICTIONS, namespace, eviction.metadata.name);
        const { startTime: _, completionTime, ...entry } = (now && entryOf(now)) ?? { name: '' };
        assert.deepEqual([entry, completionTime !== undefined], [{ name: EVICTOR }, completed === true]);
      });
      const { metadata } = (await rig().get<Pod>(PODS, namespace, 'test-pod')) ?? pod;
      assert.equal(metadata.deletionTimestamp, undefined);
    });
  }
}

const IS_TERMINATING =
  'pod has been been marked for deletion via the /eviction subresource and is being terminated gracefully';

interface Wanted {
  readonly message: string;
  readonly expectsEnd?: true;
  readonly isCompleted?: true;
}

async function untilSaid(rig: LifecycleRig, eviction: Eviction, wanted: Wanted): Promise<Eviction> {
  return await rig.until<Eviction>(
    EVICTIONS,
    eviction,
    `the evictor says ${wanted.message}`,
    (each) => {
      const { startTime, heartbeatTime, expectedCompletionTime, completionTime, message } = entryOf(each) ?? {};
      const isTold = message?.includes(wanted.message) === true && startTime !== undefined;
      const isRight = (expectedCompletionTime !== undefined) === (wanted.expectsEnd === true);
      return (
        isTold &&
        isRight &&
        heartbeatTime !== undefined &&
        (completionTime !== undefined) === (wanted.isCompleted === true)
      );
    },
    ANSWER_MS,
  );
}

/** How long after the first attempt at the pod the second one was made, by the log of the API server. */
async function secondAttemptAfter(rig: LifecycleRig, pod: string): Promise<number> {
  const [first, second] = (await rig.evictionCalls()).filter((call) => call.pod === pod);
  return first === undefined || second === undefined ? Infinity : second.at - first.at;
}

/** A budget blocks the eviction: attempts are counted, until it is canceled or the budget goes. */
async function stall(rig: LifecycleRig, eviction: Eviction, isCanceled: boolean): Promise<void> {
  const { namespace = '' } = eviction.metadata;
  const failed = (count: number): string => `pod deletion via the /eviction subresource failed (attempts=${count})`;
  await untilSaid(rig, eviction, { message: failed(1) });
  const path = `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets/test-pdb`;
  if (!isCanceled) {
    await untilSaid(rig, eviction, { message: failed(2) });
    const ms = await secondAttemptAfter(rig, `${namespace}/test-pod`);
    assert.ok(ms <= SECOND_ATTEMPT_MS, `the second attempt is made ${ms} ms after the first one`);
    await rig.send({ method: 'DELETE', path });
    return;
  }
  const conditions = [condition(FAILED, 'CanceledDueToNoRequesters')];
  const targetResponders = [{ name: EVICTOR, priority: 100, state: 'Canceled' }];
  await rig.patch(EVICTIONS, eviction, { status: { targetResponders, conditions } }, 'status');
  await rig.send({ method: 'DELETE', path });
  // Longer than the pause before the next attempt would be.
  await holdsFor({ ms: SECOND_ATTEMPT_MS, everyMs: LOOK_MS }, async () => {
    const now = await rig.get<Eviction>(EVICTIONS, namespace, eviction.metadata.name);
    const entry = now && entryOf(now);
    const { startTime, heartbeatTime, expectedCompletionTime, completionTime, message = '' } = entry ?? {};
    const isThere = [startTime, heartbeatTime, expectedCompletionTime, completionTime].map((at) => at !== undefined);
    assert.deepEqual([isThere, message.includes(failed(1))], [[true, true, false, false], true], JSON.stringify(now));
  });
  const pod = await rig.get<Pod>(PODS, namespace, 'test-pod');
  assert.equal(pod?.metadata.deletionTimestamp, undefined);
}

/** Makes a budget that lets the pod not go, and says so in its status: to one without a status the API server answers otherwise. */
async function createBudget(rig: LifecycleRig, namespace: string): Promise<void> {
  const budget = await rig.create(DISRUPTION_BUDGETS, namespace, {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'test-pdb' },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'test-responder' } } },
  });
  const status = {
    observedGeneration: 1,
    currentHealthy: 1,
    desiredHealthy: 1,
    disruptionsAllowed: 0,
    expectedPods: 1,
  };
  await rig.patch(DISRUPTION_BUDGETS, budget, { status }, 'status');
}

function addEvictionCases(rig: () => LifecycleRig, newNamespace: () => Promise<string>): void {
  for (const name of ['normal eviction', 'pdb stalls eviction', 'pdb stalls eviction and cancels eviction']) {
    it(`Responder eviction: ${name}`, async () => {
      const namespace = await newNamespace();
      const metadata = { labels: { app: 'test-responder' }, finalizers: ['eviction-responder.example.com/test'] };
      const pod = await rig().create<Pod>(PODS, namespace, podBody('test-pod', metadata));
      const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: rfc3339(Date.now()) }];
      await rig().patch(PODS, pod, { status: { phase: 'Running', conditions } }, 'status');
      const hasBudget = name !== 'normal eviction';
      if (hasBudget) await createBudget(rig(), namespace);
      const eviction = await play(rig(), pod, { [EVICTOR]: 'responder' }, statusOf('Active'));
      const isCanceled = name === 'pdb stalls eviction and cancels eviction';
      if (hasBudget) await stall(rig(), eviction, isCanceled);
      if (isCanceled) return;
      await untilSaid(rig(), eviction, { message: IS_TERMINATING, expectsEnd: true });
      await rig().patch(PODS, pod, { status: { phase: 'Succeeded' } }, 'status');
      const message = 'pod has been deleted and fully terminated (pod phase="Succeeded")';
      await untilSaid(rig(), eviction, { message, expectsEnd: true, isCompleted: true });
    });
  }
}

function addThirdPartyCases(rig: () => LifecycleRig, newNamespace: () => Promise<string>): void {
  const cases = [
    { name: 'pod deleted', message: 'pod has been deleted and fully terminated' },
    { name: 'pod terminated', message: 'pod has been fully terminated (pod phase="Failed")' },
  ];
  for (const { name, message } of cases) {
    it(`Third party termination: ${name}`, async () => {
      const namespace = await newNamespace();
      let pod: Pick<Pod, 'metadata'> = {
        metadata: { name: 'test-pod', namespace, uid: 'ef3f28c5-176a-41ec-a0f9-d069cad9e0ff' },
      };
      if (name === 'pod terminated') {
        pod = await rig().create<Pod>(PODS, namespace, podBody('test-pod'));
        await rig().patch(PODS, pod, { status: { phase: 'Failed' } }, 'status');
      }
      const eviction = await play(rig(), pod, { [EVICTOR]: 'responder' }, statusOf('Active'));
      await untilSaid(rig(), eviction, { message, expectsEnd: true, isCompleted: true });
    });
  }
}

/** Adds the cases; the default evictor alone has to run. */
export function addEvictorCases(rig: () => LifecycleRig, newNamespace: () => Promise<string>): void {
  addSkipCases(rig, newNamespace);
  addEvictionCases(rig, newNamespace);
  addThirdPartyCases(rig, newNamespace);
}
