import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { activeOf, createActor, entryOf, hasEnded, isActive, requestersOf } from '../../support/eviction/actors.ts';
import {
  buildEvictionRig,
  conditionOf,
  type EvictionRig,
  intercepts,
  NODE,
  stopAll,
} from '../../support/rigs/eviction.ts';
import { waitFor } from '../../support/wait-for.ts';

// The KEP calls its actors actor-b.k8s.io and actor-a.k8s.io; that domain is reserved, so they have their own here.
const ACTOR_B = 'actor-b.example.com';
const ACTOR_A = 'actor-a.example.com';
const IMPERATIVE = 'imperative-eviction.k8s.io';
const DRAINER = 'nodemaintenance.disruption-management.org';
const DESCHEDULER = 'descheduling.avalanche.io';
const ACTORS = { ...intercepts(ACTOR_B, 20_000), ...intercepts(ACTOR_A, 10_000) };

describe('the examples of KEP-4563 on a real API server', () => {
  let rig: EvictionRig;
  before(async () => {
    rig = await buildEvictionRig();
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  it('Multiple Dynamic Requesters and No EvictionRequest Cancellation', async () => {
    const [b, a] = [createActor(ACTOR_B), createActor(ACTOR_A)];
    const running = [await rig.startController(), await rig.startInterceptor(b), await rig.startInterceptor(a)];
    const pod = await rig.createPod('p-1', ACTORS);
    // Steps 2 and 3: the drainer asks, then the descheduler.
    await rig.request(pod, DRAINER);
    await rig.request(pod, DESCHEDULER);
    // Steps 4 and 5: B is designated and begins.
    const begun = await rig.waitFor(pod, 'B begins', (request) => {
      return isActive(ACTOR_B)(request) && entryOf(request, ACTOR_B)?.heartbeatTime !== undefined;
    });
    assert.deepEqual(requestersOf(begun), [DRAINER, DESCHEDULER]);
    assert.deepEqual(begun.status?.targetInterceptors, [{ name: ACTOR_B }, { name: ACTOR_A }, { name: IMPERATIVE }]);
    assert.deepEqual(begun.status?.processedInterceptors, []);
    assert.equal(entryOf(begun, ACTOR_B)?.startTime, entryOf(begun, ACTOR_B)?.heartbeatTime);
    assert.equal(begun.metadata.labels?.['app'], 'p-1');
    assert.equal(begun.metadata.labels?.['nodemaintenance.x-k8s.io/node'], NODE);
    const first = `True InterceptorActive: ${ACTOR_B} is the active interceptor (1 of 3).`;
    assert.equal(conditionOf(begun, 'Progressing'), first);
    // Steps 7 and 8: the drainer withdraws; the descheduler still asks, so that nothing is canceled.
    await rig.withdraw(pod, DRAINER);
    const withdrawn = await rig.waitFor(pod, 'the change is seen', (request) => {
      return requestersOf(request).length === 1 && request.status?.observedGeneration === request.metadata.generation;
    });
    assert.deepEqual(requestersOf(withdrawn), [DESCHEDULER]);
    assert.equal(activeOf(withdrawn), ACTOR_B);
    assert.equal(conditionOf(withdrawn, 'Canceled'), undefined);
    assert.equal(a.seen.size, 0, 'nobody acts before its turn');
    // Steps 9 and 10: B completes, A is designated.
    b.turn = { kind: 'completed', message: 'The users have finished their work.' };
    const passed = await rig.waitFor(pod, 'A is designated', isActive(ACTOR_A));
    assert.deepEqual(passed.status?.processedInterceptors, [ACTOR_B]);
    assert.ok(entryOf(passed, ACTOR_B)?.completionTime);
    // Step 11: A deletes the pod and completes; the pod is terminating.
    await rig.controlPlane.kubectl(['delete', 'pod', 'p-1', '--wait=false']);
    a.turn = { kind: 'completed', message: 'Deleted.' };
    const last = await rig.waitFor(pod, 'the last interceptor watches over the end', isActive(IMPERATIVE));
    assert.equal(conditionOf(last, 'Evicted'), undefined);
    // Step 12: the pod has terminated.
    await rig.endPod('p-1');
    const evicted = await rig.waitFor(pod, 'evicted', hasEnded('Evicted'));
    assert.equal(conditionOf(evicted, 'Evicted'), 'True PodDeleted: Target Pod p-1 was deleted.');
    assert.equal(conditionOf(evicted, 'Canceled'), undefined);
    assert.deepEqual(evicted.status?.activeInterceptors, []);
    assert.deepEqual(evicted.status?.processedInterceptors, [ACTOR_B, ACTOR_A, IMPERATIVE]);
    // Step 13: the descheduler can delete the request.
    await rig.controlPlane.kubectl(['delete', 'evreq', pod.metadata.uid ?? '', '--timeout=300s']);
    await stopAll(running);
  });

  it('Single Dynamic Requester and EvictionRequest Cancellation', async () => {
    const b = createActor(ACTOR_B);
    const running = [await rig.startController(), await rig.startInterceptor(b)];
    const pod = await rig.createPod('p-2', ACTORS);
    await rig.request(pod, DRAINER);
    // Steps 3 and 4: B is designated and begins.
    await rig.waitFor(pod, 'B begins', (request) => entryOf(request, ACTOR_B)?.heartbeatTime !== undefined);
    // Steps 6 and 7: the drainer withdraws, the request is canceled.
    await rig.withdraw(pod, DRAINER);
    const canceled = await rig.waitFor(pod, 'canceled', hasEnded('Canceled'));
    const why = 'True NoRequesters: Nobody requests the eviction of Pod p-2 any more.';
    assert.equal(conditionOf(canceled, 'Canceled'), why);
    assert.equal(conditionOf(canceled, 'Evicted'), undefined);
    assert.deepEqual(canceled.status?.activeInterceptors, []);
    assert.deepEqual(canceled.status?.processedInterceptors, [ACTOR_B]);
    // Step 8: B detects the cancellation.
    await rig.waitFor(pod, 'B detects it', () => b.ended.has('p-2'));
    assert.equal((await rig.getPod('p-2'))?.metadata.deletionTimestamp, undefined, 'the pod runs on');
    // A new requester does not revive a canceled request: the request has to be deleted and made again.
    await rig.request(pod, DESCHEDULER);
    const again = await rig.waitFor(pod, 'the change is seen', (request) => {
      return requestersOf(request).length === 1 && request.status?.observedGeneration === request.metadata.generation;
    });
    assert.deepEqual(again.status?.activeInterceptors, []);
    await stopAll(running);
  });

  it('Test the full eviction request flow with multiple interceptors.', async () => {
    const names = ['hpa.example.com', 'operator.example.com', 'fallback.example.com'];
    const actors = names.map((name) => createActor(name));
    const running = [await rig.startController()];
    for (const each of actors) running.push(await rig.startInterceptor(each));
    const priorities = names.map((name, index) => intercepts(name, 30_000 - index));
    const pod = await rig.createPod('p-3', Object.assign({}, ...priorities) as Record<string, string>);
    await rig.request(pod, DRAINER);
    for (const [index, each] of actors.entries()) {
      const { status } = await rig.waitFor(pod, `${each.name} is active`, (request) => {
        return isActive(each.name)(request) && entryOf(request, each.name)?.heartbeatTime !== undefined;
      });
      assert.deepEqual(status?.processedInterceptors, names.slice(0, index));
      each.turn = { kind: 'completed', message: 'Done with my part.' };
    }
    const isTerminating = async (): Promise<boolean> =>
      (await rig.getPod('p-3'))?.metadata.deletionTimestamp !== undefined;
    await waitFor('the pod is evicted by the Eviction API', isTerminating);
    await rig.endPod('p-3');
    const { status } = await rig.waitFor(pod, 'evicted', hasEnded('Evicted'));
    assert.deepEqual(status?.processedInterceptors, [...names, IMPERATIVE]);
    await stopAll(running);
  });
});
