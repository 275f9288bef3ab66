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
const B = 'actor-b.example.com';
const A = 'actor-a.example.com';
const IMPERATIVE = 'imperative-eviction.k8s.io';
const DRAINER = 'nodemaintenance.disruption-management.org';
const MINUTE = 60_000;
const DESCHEDULER = 'descheduling.avalanche.io';
const ACTORS = { ...intercepts(B, 20_000), ...intercepts(A, 10_000) };

describe('the examples of KEP-4563, and the integration tests that it lists, on a real API server', () => {
  let rig: EvictionRig;
  before(async () => {
    rig = await buildEvictionRig();
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  it('Multiple Dynamic Requesters and No EvictionRequest Cancellation', async () => {
    const [b, a] = [createActor(B), createActor(A)];
    const running = [await rig.startController(), await rig.startInterceptor(b), await rig.startInterceptor(a)];
    const pod = await rig.createPod('p-1', ACTORS);
    // Steps 2 and 3: the drainer asks, then the descheduler.
    await rig.request(pod, DRAINER);
    await rig.request(pod, DESCHEDULER);
    // Steps 4 and 5: B is designated and begins.
    const begun = await rig.waitFor(pod, 'B begins', (request) => {
      return isActive(B)(request) && entryOf(request, B)?.heartbeatTime !== undefined;
    });
    assert.deepEqual(requestersOf(begun), [DRAINER, DESCHEDULER]);
    assert.deepEqual(begun.status?.targetInterceptors, [{ name: B }, { name: A }, { name: IMPERATIVE }]);
    assert.deepEqual(begun.status?.processedInterceptors, []);
    assert.equal(entryOf(begun, B)?.startTime, entryOf(begun, B)?.heartbeatTime);
    assert.equal(begun.metadata.labels?.['app'], 'p-1');
    assert.equal(begun.metadata.labels?.['nodemaintenance.x-k8s.io/node'], NODE);
    const first = `True InterceptorActive: ${B} is the active interceptor (1 of 3).`;
    assert.equal(conditionOf(begun, 'Progressing'), first);
    // Steps 7 and 8: the drainer withdraws; the descheduler still asks, so that nothing is canceled.
    await rig.withdraw(pod, DRAINER);
    const withdrawn = await rig.waitFor(pod, 'the change is seen', (request) => {
      return requestersOf(request).length === 1 && request.status?.observedGeneration === request.metadata.generation;
    });
    assert.deepEqual(requestersOf(withdrawn), [DESCHEDULER]);
    assert.equal(activeOf(withdrawn), B);
    assert.equal(conditionOf(withdrawn, 'Canceled'), undefined);
    assert.equal(a.seen.size, 0, 'nobody acts before its turn');
    // Steps 9 and 10: B completes, A is designated.
    b.turn = { kind: 'completed', message: 'The users have finished their work.' };
    const passed = await rig.waitFor(pod, 'A is designated', isActive(A));
    assert.deepEqual(passed.status?.processedInterceptors, [B]);
    assert.ok(entryOf(passed, B)?.completionTime);
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
    assert.deepEqual(evicted.status?.processedInterceptors, [B, A, IMPERATIVE]);
    // Step 13: the descheduler can delete the request.
    await rig.controlPlane.kubectl(['delete', 'evreq', pod.metadata.uid ?? '', '--timeout=300s']);
    await stopAll(running);
  });

  it('Single Dynamic Requester and EvictionRequest Cancellation', async () => {
    const b = createActor(B);
    const running = [await rig.startController(), await rig.startInterceptor(b)];
    const pod = await rig.createPod('p-2', ACTORS);
    await rig.request(pod, DRAINER);
    // Steps 3 and 4: B is designated and begins.
    await rig.waitFor(pod, 'B begins', (request) => entryOf(request, B)?.heartbeatTime !== undefined);
    // Steps 6 and 7: the drainer withdraws, the request is canceled.
    await rig.withdraw(pod, DRAINER);
    const canceled = await rig.waitFor(pod, 'canceled', hasEnded('Canceled'));
    const why = 'True NoRequesters: Nobody requests the eviction of Pod p-2 any more.';
    assert.equal(conditionOf(canceled, 'Canceled'), why);
    assert.equal(conditionOf(canceled, 'Evicted'), undefined);
    assert.deepEqual(canceled.status?.activeInterceptors, []);
    assert.deepEqual(canceled.status?.processedInterceptors, [B]);
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

  it('Switching on and off the gate should enable/disable the feature', async () => {
    // Out of tree the gate is the controller: without it requests are kept, and nothing is done to their pods.
    const pod = await rig.createPod('gate');
    await rig.request(pod, DRAINER);
    assert.equal((await rig.get(pod))?.status, undefined);
    const first = await rig.startController();
    await rig.waitFor(pod, 'on: evicted by the Eviction API', (request) => isActive(IMPERATIVE)(request));
    await first.stop();
    const other = await rig.createPod('gate-2');
    await rig.request(other, DRAINER);
    await new Promise((resolve) => {
      setTimeout(resolve, 1_000);
    });
    assert.equal((await rig.get(other))?.status, undefined, 'off: nothing happens');
    assert.equal((await rig.getPod('gate-2'))?.metadata.deletionTimestamp, undefined);
    const second = await rig.startController();
    await rig.waitFor(other, 'on again: goes on', (request) => isActive(IMPERATIVE)(request));
    await rig.endPod('gate');
    await rig.endPod('gate-2');
    await rig.waitFor(pod, 'evicted', hasEnded('Evicted'));
    await stopAll([second]);
  });

  it('Test all the interactions between the eviction request controller and the interceptor.', async () => {
    const b = createActor(B);
    const running = [await rig.startController(), await rig.startInterceptor(b)];
    const pod = await rig.createPod('interact', ACTORS);
    await rig.request(pod, DRAINER);
    const begun = await rig.waitFor(pod, 'the first heartbeat', (request) => {
      return entryOf(request, B)?.heartbeatTime !== undefined;
    });
    assert.equal(entryOf(begun, B)?.message, `${B} is at work.`);
    // The message and the estimate follow the work; the heartbeat keeps its distance.
    const at = Date.now() + 600_000;
    b.turn = { kind: 'working', message: 'Half done.', expectedFinishAt: at };
    const half = await rig.waitFor(pod, 'half done', (request) => entryOf(request, B)?.message === 'Half done.');
    assert.equal(entryOf(half, B)?.heartbeatTime, entryOf(begun, B)?.heartbeatTime);
    assert.equal(Date.parse(entryOf(half, B)?.expectedFinishTime ?? ''), Math.floor(at / 1000) * 1000);
    assert.deepEqual(entryOf(half, A), { name: A, message: '' }, 'others are not touched');
    // Labels of the pod are followed, its own as well as those it loses.
    await rig.controlPlane.kubectl(['label', 'pod', 'interact', 'tier=db', 'app-']);
    await rig.waitFor(pod, 'the labels follow', ({ metadata: { labels } }) => {
      return (
        labels?.['tier'] === 'db' && labels['app'] === undefined && labels['nodemaintenance.x-k8s.io/node'] === NODE
      );
    });
    b.turn = { kind: 'completed', message: 'Nothing to do with it.' };
    const passed = await rig.waitFor(pod, 'passed on', isActive(A));
    assert.ok(entryOf(passed, B)?.completionTime);
    await stopAll(running);
  });

  it('Test that the eviction of the pod happens if there is no interceptor or the interceptor stops responding.', async () => {
    const none = await rig.createPod('none');
    await rig.request(none, DRAINER);
    const silent = await rig.createPod('silent', intercepts(B, 20_000));
    await rig.request(silent, DRAINER);
    const controller = await rig.startController();
    await rig.waitFor(none, 'no interceptor', isActive(IMPERATIVE));
    await rig.waitFor(silent, 'B is designated', isActive(B));
    await controller.stop();
    const early = await rig.startController({}, { passedMs: 19 * MINUTE });
    await new Promise((resolve) => {
      setTimeout(resolve, 1_500);
    });
    assert.equal(activeOf(await rig.get(silent)), B, 'after 19 minutes it still has its chance');
    await early.stop();
    const late = await rig.startController({}, { passedMs: 20 * MINUTE + 5_000 });
    const passed = await rig.waitFor(silent, 'passed on after 20 minutes', isActive(IMPERATIVE));
    assert.match(conditionOf(passed, 'Progressing') ?? '', /gave no sign of life for 20 minutes/);
    await waitFor('it is evicted', async () => (await rig.getPod('silent'))?.metadata.deletionTimestamp !== undefined);
    const reasons = ['get', 'events', '-o', 'jsonpath={.items[*].reason}'];
    const isTold = async (): Promise<boolean> => (await rig.controlPlane.kubectl(reasons)).includes('HeartbeatTimeout');
    await waitFor('an Event says so', isTold);
    await rig.endPod('none');
    await rig.endPod('silent');
    await rig.waitFor(silent, 'evicted', hasEnded('Evicted'));
    await late.stop();
  });

  it('a controller that was stopped for the whole of a 20 minute deadline continues rightly when it is restarted', async () => {
    const first = await rig.startController();
    const b = createActor(B);
    const playing = await rig.startInterceptor(b);
    const alive = await rig.createPod('alive', ACTORS);
    await rig.request(alive, DRAINER);
    await rig.waitFor(alive, 'B works', (request) => entryOf(request, B)?.heartbeatTime !== undefined);
    await stopAll([first, playing]);
    const mute = await rig.createPod('mute', { ...intercepts('mute.example.com', 20_000), ...intercepts(A, 10_000) });
    await rig.request(mute, DRAINER);
    const again = await rig.startController();
    await rig.waitFor(mute, 'the mute one is designated', isActive('mute.example.com'));
    await again.stop();
    // 25 minutes pass without a controller. B has sent heartbeats, the other has not, a new request has come.
    const fresh = await rig.createPod('fresh', ACTORS);
    await rig.request(fresh, DRAINER);
    b.turn = { kind: 'working', message: 'Still at work.' };
    const beating = await rig.startInterceptor(b, { passedMs: 24 * MINUTE });
    await rig.waitFor(
      alive,
      'B has given a sign of life',
      (request) => entryOf(request, B)?.message === 'Still at work.',
    );
    const late = await rig.startController({}, { passedMs: 25 * MINUTE });
    const passed = await rig.waitFor(mute, 'the mute one is passed over', isActive(A));
    assert.deepEqual(passed.status?.processedInterceptors, ['mute.example.com']);
    // A was designated just now: it has its whole time, though the request is older than 20 minutes.
    await rig.waitFor(fresh, 'the new request begins with its first interceptor', isActive(B));
    await new Promise((resolve) => {
      setTimeout(resolve, 1_000);
    });
    assert.equal(activeOf(await rig.get(mute)), A);
    assert.equal(activeOf(await rig.get(alive)), B);
    assert.equal(activeOf(await rig.get(fresh)), B);
    await stopAll([late, beating]);
  });

  it('Test switching between different interceptors and resetting the EvictionRequest status.', async () => {
    const [b, a] = [createActor(B), createActor(A)];
    const running = [await rig.startController(), await rig.startInterceptor(b), await rig.startInterceptor(a)];
    const pod = await rig.createPod('switch', ACTORS);
    await rig.request(pod, DRAINER);
    await rig.waitFor(pod, 'B works', (request) => entryOf(request, B)?.heartbeatTime !== undefined);
    b.turn = { kind: 'completed', message: 'Done.' };
    await rig.waitFor(pod, 'A works', (request) => entryOf(request, A)?.heartbeatTime !== undefined);
    await rig.withdraw(pod, DRAINER);
    const old = await rig.waitFor(pod, 'canceled', hasEnded('Canceled'));
    await rig.controlPlane.kubectl(['delete', 'evreq', old.metadata.name, '--timeout=300s']);
    b.turn = { kind: 'working', message: 'From the beginning.' };
    await rig.request(pod, DRAINER);
    const anew = await rig.waitFor(pod, 'B begins anew', (request) => {
      return entryOf(request, B)?.message === 'From the beginning.';
    });
    assert.equal(activeOf(anew), B);
    assert.deepEqual(anew.status?.processedInterceptors, []);
    assert.equal(conditionOf(anew, 'Canceled'), undefined);
    assert.deepEqual(entryOf(anew, A), { name: A, message: '' });
    await stopAll(running);
  });

  it('Test that the EvictionRequest has the Canceled=True condition when the EvictionRequest is canceled or when validation fails.', async () => {
    const controller = await rig.startController();
    const absent = { metadata: { name: 'absent', namespace: 'default', uid: crypto.randomUUID() }, spec: {} };
    await rig.request(absent, DRAINER);
    const notFound = await rig.waitFor(absent, 'no such pod', hasEnded('Canceled'));
    assert.equal(conditionOf(notFound, 'Canceled'), 'True ValidationFailed: Target Pod absent was not found.');
    assert.equal(notFound.status?.targetInterceptors, undefined);
    const real = await rig.createPod('namesake');
    const wrong = { ...real, metadata: { ...real.metadata, uid: crypto.randomUUID() } };
    await rig.request(wrong, DRAINER);
    const mismatch = await rig.waitFor(wrong, 'another UID', hasEnded('Canceled'));
    assert.equal(conditionOf(mismatch, 'Canceled'), 'True ValidationFailed: Target Pod namesake was not found.');
    assert.equal((await rig.getPod('namesake'))?.metadata.deletionTimestamp, undefined);
    const pod = await rig.createPod('withdrawn', ACTORS);
    await rig.request(pod, DRAINER);
    await rig.waitFor(pod, 'B is designated', isActive(B));
    await rig.withdraw(pod, DRAINER);
    await rig.waitFor(pod, 'canceled', hasEnded('Canceled'));
    await controller.stop();
  });

  it('Test that the EvictionRequest has the Evicted=True condition when the pod is terminated.', async () => {
    const controller = await rig.startController();
    const pods = [await rig.createPod('deleted', ACTORS), await rig.createPod('succeeded', ACTORS)];
    for (const pod of pods) {
      await rig.request(pod, DRAINER);
      await rig.waitFor(pod, 'B is designated', isActive(B));
    }
    await rig.endPod('deleted');
    const done = ['patch', 'pod', 'succeeded', '--subresource=status', '-p', '{"status":{"phase":"Succeeded"}}'];
    await rig.controlPlane.kubectl(done);
    const [deleted, succeeded] = await Promise.all(pods.map((pod) => rig.waitFor(pod, 'evicted', hasEnded('Evicted'))));
    assert.equal(conditionOf(deleted, 'Evicted'), 'True PodDeleted: Target Pod deleted was deleted.');
    assert.equal(
      conditionOf(succeeded, 'Evicted'),
      'True PodTerminal: Target Pod succeeded reached the phase Succeeded.',
    );
    assert.ok(await rig.getPod('succeeded'), 'the object of a pod that has ended stays for debugging');
    assert.equal(conditionOf(succeeded, 'Progressing')?.split(' ')[0], 'False');
    await controller.stop();
  });

  it('the controller collects finished requests that their requesters leave behind after a while', async () => {
    const pod = await rig.createPod('left', ACTORS);
    await rig.request(pod, DRAINER);
    const controller = await rig.startController({ requestTtl: '1s' });
    await rig.waitFor(pod, 'B is designated', isActive(B));
    await rig.endPod('left');
    const gone = async (): Promise<boolean> => (await rig.get(pod)) === undefined;
    const deadline = Date.now() + 10_000;
    while (!(await gone()) && Date.now() < deadline) {
      await new Promise((resolve) => {
        setTimeout(resolve, 100);
      });
    }
    assert.ok(await gone());
    await controller.stop();
  });
});
