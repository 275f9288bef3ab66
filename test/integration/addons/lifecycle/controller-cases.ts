/** The cases of test/integration/evictionrequest of kubernetes/kubernetes#137133, by their names. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Eviction, LifecycleRequest } from '../../../../src/api/lifecycle.ts';
import type { Pod } from '../../../../src/api/pod.ts';
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
  hasStates,
  NO_REQUESTERS,
  NO_RESPONDER,
  OTHER_UID,
  report,
  type Said,
  says,
  type Scene,
  TERMINAL,
} from '../../lifecycle/scene.ts';

const INVALID = [
  { name: 'pod not found', message: 'Target pod not found' },
  { name: 'pod UID mismatch', message: 'Target pod UID mismatch' },
  { name: 'pod with schedulingGroup', message: 'Target pod references a SchedulingGroup' },
] as const;
/** Adds the cases; the controller of Evictions alone has to run: the tests play every responder. */
export function addControllerCases(rigOf: () => LifecycleRig, scene: Scene): void {
  const { newNamespace, createRequest, withIntent, untilRequest, untilEviction, endPod } = scene;
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
      await new Promise((resolve) => setTimeout(resolve, 300));
      const now = await rigOf().get(LIFECYCLE_REQUESTS, namespace, request.metadata.name);
      assert.equal(now?.metadata.resourceVersion, last.metadata.resourceVersion);
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
    await untilEviction(eviction, 'the Eviction is invalid', (each) => {
      const wanted = ['False EvictionFailed', 'True EvictionInvalid: Target pod references a SchedulingGroup'] as const;
      return says(each, wanted) && each.status?.observedGeneration === 1;
    });
  });

  const CASES: readonly {
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

  /** The beginning of each case: the first responder completes, and the second one begins. */
  const begin = async (): Promise<{ pod: Pod; request: LifecycleRequest; eviction: Eviction }> => {
    const namespace = await newNamespace();
    const evictionResponders = [
      { name: B, priority: 1000 },
      { name: A, priority: 1001 },
    ];
    const metadata = { finalizers: ['prevent.example.com/deletion'] };
    const pod = await createRunningPod(rigOf(), namespace, podBody('test-pod', metadata, { evictionResponders }));
    const request = await createRequest(pod);
    await untilRequest(request, AWAITING, 1);
    const first = { metadata: { name: 'pod-1-test-pod', namespace } };
    const eviction = await untilEviction(first, 'the first responder is active', (each) => {
      return hasStates(each, ['Active', 'Inactive', 'Inactive']) && says(each, AWAITING);
    });
    assert.deepEqual(eviction.spec, { target: { pod: { name: 'test-pod', uid: pod.metadata.uid } } });
    assert.deepEqual(eviction.status?.requesters, [{ name: 'foo.example.com/1', intent: 'Eviction' }]);
    assert.equal(eviction.status?.observedGeneration, 1);
    assert.deepEqual(eviction.metadata.labels, {
      'foo.example.com/1': 'requester',
      [A]: 'responder',
      [B]: 'responder',
      [EVICTOR]: 'responder',
    });
    const { name, uid } = request.metadata;
    const owner = { apiVersion: 'lifecycle.k8s.io/v1alpha1', kind: 'EvictionRequest', name, uid };
    assert.deepEqual(eviction.metadata.ownerReferences, [owner]);
    const responders = eviction.status?.responders ?? [];
    assert.deepEqual(
      responders.map((each) => [each.name, each.startTime !== undefined]),
      [
        [A, true],
        [B, false],
        [EVICTOR, false],
      ],
    );
    await rigOf().respond(eviction, report(A, false));
    await rigOf().respond(eviction, report(A, true));
    const second = await untilEviction(eviction, 'the second responder is active', (each) => {
      return hasStates(each, ['Completed', 'Active', 'Inactive']) && says(each, AWAITING);
    });
    assert.notEqual(second.status?.responders?.find((each) => each.name === B)?.startTime, undefined);
    await rigOf().respond(eviction, report(B, false));
    return { pod, request, eviction };
  };

  /** The first Eviction fails, and another one takes its place and gets as far as the first one. */
  const failAndRecover = async (
    how: 'cancel' | 'cancel-and-request-anew' | 'complete-all',
    { pod, request, eviction }: { readonly pod: Pod; readonly request: LifecycleRequest; readonly eviction: Eviction },
  ): Promise<{ request: LifecycleRequest; eviction: Eviction; generation: number }> => {
    let now = { request, generation: 1 };
    if (how === 'complete-all') {
      await rigOf().respond(eviction, report(B, true));
      await untilEviction(eviction, 'the evictor is active', (each) =>
        hasStates(each, ['Completed', 'Completed', 'Active']),
      );
      await rigOf().respond(eviction, report(EVICTOR, true));
      await untilEviction(eviction, 'all have completed', (each) => {
        return hasStates(each, ['Completed', 'Completed', 'Completed']) && says(each, NO_RESPONDER);
      });
    } else {
      await withIntent(request, 'Withdrawn');
      await untilEviction(eviction, 'the second responder is canceled', (each) => {
        return hasStates(each, ['Completed', 'Canceled', 'Inactive']) && says(each, NO_REQUESTERS);
      });
      await untilRequest(request, NO_REQUESTERS, 2);
      now =
        how === 'cancel'
          ? { request: await withIntent(request, 'Eviction'), generation: 3 }
          : { request: await createRequest(pod, 'foo.example.com/2'), generation: 1 };
    }
    const name = { metadata: { name: 'pod-2-test-pod', namespace: pod.metadata.namespace ?? '' } };
    const again = await untilEviction(name, 'there is another Eviction', (each) =>
      hasStates(each, ['Active', 'Inactive', 'Inactive']),
    );
    await rigOf().respond(again, report(A, true));
    return { ...now, eviction: again };
  };

  for (const { name, end, outcome, before: how, lastReport } of CASES) {
    it(`Eviction process: ${name}`, async () => {
      const begun = await begin();
      const { pod } = begun;
      const { request, eviction, generation } =
        how === undefined ? { ...begun, generation: 1 } : await failAndRecover(how, begun);
      await untilEviction(eviction, 'the second responder is active', (each) =>
        hasStates(each, ['Completed', 'Active', 'Inactive']),
      );
      await endPod(pod, end);
      if (lastReport !== 'missing') await rigOf().respond(eviction, report(B, true));
      const last = lastReport === 'missing' ? 'Interrupted' : 'Completed';
      const ended = await untilEviction(
        eviction,
        'the Eviction is over',
        (each) => hasStates(each, ['Completed', last, 'Inactive']) && says(each, outcome),
      );
      await untilRequest(request, outcome, generation);
      const owners = ended.metadata.ownerReferences?.map(({ uid }) => uid);
      const requests = how === 'cancel-and-request-anew' ? [begun.request, request] : [request];
      assert.deepEqual(owners?.toSorted(), requests.map(({ metadata }) => metadata.uid ?? '').toSorted());
    });
  }
}
