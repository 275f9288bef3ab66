/** The cases of test/integration/evictionrequest of kubernetes/kubernetes#137133, by their names. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Eviction, LifecycleRequest } from '../../../../src/api/lifecycle.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { collectionPath } from '../../../../src/kube/resource.ts';
import {
  createRunningPod,
  EVICTIONS,
  LIFECYCLE_REQUESTS,
  type LifecycleRig,
  podBody,
} from '../../../support/rigs/lifecycle.ts';
import {
  A,
  AWAITING,
  B,
  DELETED,
  EVICTOR,
  NO_REQUESTERS,
  NO_RESPONDER,
  OTHER_UID,
  report,
  type Said,
  says,
  type Scene,
  TERMINAL,
} from '../../lifecycle/scene.ts';
import { FIRST_REQUESTER, isAs, labelsOf, REQUESTERS, SECOND_REQUESTER, type Wanted } from './wanted.ts';

/**
 * Upstream waits 5 s for each answer of its controller, and 10 s for the last one of an Eviction. These times are no behaviour of
 * a controller, which has no timers of this length but one: here they are 20 s, for the API server and the tests share a machine
 * with others. The one is how long the controller waits for the last report of a responder whose pod has ended, 5 s; upstream's
 * 10 s hold for that case.
 */
const LAST_REPORT_MS = 10_000;
/** For so long, in milliseconds, upstream looks whether an object stays as it is after a validation has failed. */
const STAYS_MS = 300;

const INVALID = [
  { name: 'pod not found', message: 'Target pod not found' },
  { name: 'pod UID mismatch', message: 'Target pod UID mismatch' },
  { name: 'pod with schedulingGroup', message: 'Target pod references a SchedulingGroup' },
] as const;

/** An eviction under way: its pod, all requests for it, and what its Evictions have. */
interface Progress {
  readonly pod: Pod;
  readonly eviction: Eviction;
  /** The last one is asked what it says. */
  readonly requests: readonly [LifecycleRequest, ...LifecycleRequest[]];
  /** The generation that the last request has. */
  readonly generation: number;
}

const PROCESSES: readonly {
  readonly name: string;
  readonly end: 'delete' | 'succeed';
  readonly outcome: Said;
  readonly before?: 'cancel' | 'cancel-and-request-anew' | 'complete-all';
  readonly lastReport?: 'missing';
}[] = [
  { name: 'should evict - pod termination', end: 'succeed', outcome: TERMINAL },
  { name: 'should evict - pod deletion', end: 'delete', outcome: DELETED },
  {
    name: 'should cancel eviction, and allow for triggering it again via the same eviction request',
    end: 'delete',
    outcome: DELETED,
    before: 'cancel',
  },
  {
    name: 'should cancel eviction, and allow for triggering it again via different eviction request',
    end: 'delete',
    outcome: DELETED,
    before: 'cancel-and-request-anew',
  },
  {
    name: 'complete responders without pod termination fails eviction, but recovers with a new eviction',
    end: 'succeed',
    outcome: TERMINAL,
    before: 'complete-all',
  },
  {
    name: 'should evict with pod termination, but last responder update fails',
    end: 'succeed',
    outcome: TERMINAL,
    lastReport: 'missing',
  },
];

function addValidationCases(rigOf: () => LifecycleRig, scene: Scene): void {
  const { newNamespace, createRequest, withIntent, untilRequest, untilEviction, stays } = scene;
  for (const { name, message } of INVALID) {
    it(`EvictionRequest validation: ${name}`, async () => {
      const namespace = await newNamespace();
      const group = name === 'pod with schedulingGroup' ? { schedulingGroup: { podGroupName: 'group' } } : {};
      const made =
        name === 'pod not found'
          ? ({ metadata: { name: 'test-pod', namespace, uid: OTHER_UID }, spec: {} } satisfies Pod)
          : await createRunningPod(rigOf(), namespace, podBody('test-pod', {}, group));
      const uid = name === 'pod UID mismatch' ? OTHER_UID : (made.metadata.uid ?? '');
      const request = await createRequest({ ...made, metadata: { ...made.metadata, uid } });
      const wanted = ['False EvictionFailed', `True EvictionInvalid: ${message}`] as const;
      await untilRequest(request, wanted, 1);
      await withIntent(request, 'Withdrawn');
      const last = await untilRequest(request, wanted, 2);
      await stays(LIFECYCLE_REQUESTS, last, STAYS_MS);
    });
  }

  it('Eviction validation: pod with schedulingGroup', async () => {
    const namespace = await newNamespace();
    const group = { schedulingGroup: { podGroupName: 'group' } };
    const pod = await createRunningPod(rigOf(), namespace, podBody('test-pod', {}, group));
    const { name, uid } = pod.metadata;
    const eviction = await rigOf().create<Eviction>(EVICTIONS, namespace, {
      apiVersion: 'lifecycle.k8s.io/v1alpha1',
      kind: 'Eviction',
      metadata: { generateName: 'evict-' },
      spec: { target: { pod: { name, uid } } },
    });
    const last = await untilEviction(eviction, 'the Eviction is invalid', (each) => {
      const wanted = ['False EvictionFailed', 'True EvictionInvalid: Target pod references a SchedulingGroup'] as const;
      return says(each, wanted) && each.status?.observedGeneration === 1;
    });
    await stays(EVICTIONS, last, STAYS_MS);
  });
}

/** Adds the cases; the controller of Evictions alone has to run: the tests play every responder. */
export function addControllerCases(rigOf: () => LifecycleRig, scene: Scene): void {
  const { newNamespace, createRequest, withIntent, untilRequest, untilEviction, endPod } = scene;
  addValidationCases(rigOf, scene);

  const untilAs = async (
    of: Pick<Eviction, 'metadata'>,
    what: string,
    wanted: Wanted,
    timeoutMs?: number,
  ): Promise<Eviction> =>
    await untilEviction(of, `${what} (${JSON.stringify(wanted)})`, (each) => isAs(each, wanted), timeoutMs);

  const specOf = ({ metadata: { name, uid = '' } }: Pod): Eviction['spec'] => ({ target: { pod: { name, uid } } });

  /** The beginning of each case: the first responder completes, and the second one begins. */
  const begin = async (): Promise<Progress> => {
    const namespace = await newNamespace();
    const evictionResponders = [
      { name: B, priority: 1000 },
      { name: A, priority: 1001 },
    ];
    const metadata = { finalizers: ['prevent.example.com/deletion'] };
    const pod = await createRunningPod(rigOf(), namespace, podBody('test-pod', metadata, { evictionResponders }));
    const request = await createRequest(pod, FIRST_REQUESTER);
    await untilRequest(request, AWAITING, 1);
    const first = { metadata: { name: 'pod-1-test-pod', namespace } };
    const said = { said: AWAITING, requesters: REQUESTERS, generation: 1 };
    const eviction = await untilAs(first, 'the first responder is active', {
      states: ['Active', 'Inactive', 'Inactive'],
      spec: specOf(pod),
      labels: labelsOf(FIRST_REQUESTER),
      owners: [request],
      started: A,
      ...said,
    });
    assert.deepEqual(await namesIn(rigOf(), namespace), ['pod-1-test-pod']);
    await rigOf().respond(eviction, report(A, false));
    await rigOf().respond(eviction, report(A, true));
    const states = ['Completed', 'Active', 'Inactive'] as const;
    await untilAs(eviction, 'the second responder is active', { states, started: B, ...said });
    await rigOf().respond(eviction, report(B, false));
    return { pod, eviction, requests: [request], generation: 1 };
  };

  const cancel = async (how: 'cancel' | 'cancel-and-request-anew', begun: Progress): Promise<Progress> => {
    const { pod, eviction, requests } = begun;
    const [request] = requests;
    await withIntent(request, 'Withdrawn');
    const states = ['Completed', 'Canceled', 'Inactive'] as const;
    await untilAs(eviction, 'the second responder is canceled', { states, said: NO_REQUESTERS, generation: 1 });
    await untilRequest(request, NO_REQUESTERS, 2);
    if (how === 'cancel') return { ...begun, requests: [await withIntent(request, 'Eviction')], generation: 3 };
    return { ...begun, requests: [request, await createRequest(pod, SECOND_REQUESTER)], generation: 1 };
  };

  const completeAll = async (begun: Progress): Promise<Progress> => {
    const { eviction } = begun;
    await rigOf().respond(eviction, report(B, true));
    await untilAs(eviction, 'the evictor is active', { states: ['Completed', 'Completed', 'Active'] });
    await rigOf().respond(eviction, report(EVICTOR, true));
    const states = ['Completed', 'Completed', 'Completed'] as const;
    await untilAs(eviction, 'all have completed', { states, said: NO_RESPONDER, generation: 1 });
    return begun;
  };

  /** The first Eviction fails, and another one takes its place and gets as far as the first one. */
  const failAndRecover = async (
    how: 'cancel' | 'cancel-and-request-anew' | 'complete-all',
    begun: Progress,
    labels: Wanted['labels'],
  ): Promise<Progress> => {
    const after = how === 'complete-all' ? await completeAll(begun) : await cancel(how, begun);
    const { pod, requests } = after;
    const name = { metadata: { name: 'pod-2-test-pod', namespace: pod.metadata.namespace ?? '' } };
    const again = await untilAs(name, 'there is another Eviction', {
      states: ['Active', 'Inactive', 'Inactive'],
      spec: specOf(pod),
      owners: requests,
      ...(labels === undefined ? {} : { labels }),
    });
    await rigOf().respond(again, report(A, true));
    return { ...after, eviction: again };
  };

  for (const { name, end, outcome, before: how, lastReport } of PROCESSES) {
    it(`Eviction process: ${name}`, async () => {
      const begun = await begin();
      const others = how === 'cancel-and-request-anew' ? [SECOND_REQUESTER] : [];
      const labels = labelsOf(FIRST_REQUESTER, ...others);
      const { pod, requests, eviction, generation } =
        how === undefined ? begun : await failAndRecover(how, begun, labels);
      await untilAs(eviction, 'the second responder is active', { states: ['Completed', 'Active', 'Inactive'] });
      await endPod(pod, end);
      if (lastReport !== 'missing') await rigOf().respond(eviction, report(B, true));
      const last = lastReport === 'missing' ? 'Interrupted' : 'Completed';
      const wanted = { said: outcome, labels, owners: requests, generation: 1 };
      // The end of the pod and the report are two objects. Where the controller sees the report first, the last responder begins.
      const ends = (['Inactive', 'Interrupted'] as const).map((third) => ({
        ...wanted,
        states: ['Completed', last, third] as const,
      }));
      const isOver = (each: Eviction): boolean => ends.some((one) => isAs(each, one));
      const timeoutMs = lastReport === 'missing' ? LAST_REPORT_MS : undefined;
      await untilEviction(eviction, `the Eviction is over (${JSON.stringify(wanted)})`, isOver, timeoutMs);
      await untilRequest(requests.at(-1) ?? requests[0], outcome, generation);
    });
  }
}

async function namesIn(rig: LifecycleRig, namespace: string): Promise<readonly string[]> {
  const { body } = await rig.ask({ method: 'GET', path: collectionPath(EVICTIONS, namespace) });
  return (body as { readonly items: readonly Eviction[] }).items.map(({ metadata }) => metadata.name);
}
