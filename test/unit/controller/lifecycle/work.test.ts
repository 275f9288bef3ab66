import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { DRAIN_REQUESTER, LIFECYCLE_API_VERSION, type LifecycleRequest } from '../../../../src/api/lifecycle.ts';
import type { ControllerContext } from '../../../../src/controller/context.ts';
import { createLifecycleWork } from '../../../../src/controller/lifecycle/work.ts';
import { createSystemClock } from '../../../../src/host/clock.ts';
import type { KubeClient } from '../../../../src/kube/client.ts';
import { LIFECYCLE_REQUESTS } from '../../../../src/kube/lifecycle/resources.ts';
import { collectionPath } from '../../../../src/kube/resource.ts';
import { createMemoryCluster } from '../../../support/stand-ins/memory-cluster.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { NOW, request, UID } from '../../decide/lifecycle/objects.ts';

const NOBODY = (): void => undefined;
const KEY = `shop/${UID}`;

function askedByDrain(): LifecycleRequest {
  const made = request(DRAIN_REQUESTER);
  return { ...made, metadata: { ...made.metadata, name: UID, namespace: 'shop', labels: {} } };
}

/** An API server with these requests, which serves the group until it is switched off. */
function createServer(requests: readonly LifecycleRequest[] = [askedByDrain()]): {
  readonly client: KubeClient;
  readonly switchOff: () => void;
} {
  const off = new AbortController();
  const isServed = (): boolean => !off.signal.aborted;
  const client: KubeClient = {
    send: ({ path }) => {
      const [place = ''] = path.split('?');
      if (!isServed()) return Promise.resolve({ status: 404, headers: {}, body: null });
      const items = place === collectionPath(LIFECYCLE_REQUESTS) ? requests : [];
      const resources = [{ name: 'evictionrequests' }, { name: 'evictions' }];
      const body =
        place === `/apis/${LIFECYCLE_API_VERSION}` ? { resources } : { metadata: { resourceVersion: '1' }, items };
      return Promise.resolve({ status: 200, headers: {}, body });
    },
    watch: async function* (_path, signal) {
      const ended = AbortSignal.any([signal, off.signal]);
      if (!ended.aborted) await once(ended, 'abort');
      if (!isServed()) throw new Error('the server has gone');
      yield* [];
    },
    close: () => undefined,
  };
  return {
    client,
    switchOff: () => {
      off.abort();
    },
  };
}

/** What a leader has; its pauses are short. */
function contextOf(client: KubeClient, lifecycleApi: 'off' | 'on'): ControllerContext {
  const { context } = createMemoryCluster({ lifecycleApi });
  const clock = createSystemClock();
  return { ...context, client, clock: { ...clock, sleep: (ms, signal) => clock.sleep(Math.min(ms, 20), signal) } };
}

describe('the dialect of drains while the cluster changes', () => {
  it('a group that is switched off while a drain is under way leaves the drain to the older dialect', async () => {
    const { client, switchOff } = createServer();
    const changed: string[] = [];
    const work = createLifecycleWork(contextOf(client, 'on'), (kind, change) => {
      if (kind === 'DrainRequest') changed.push(change as string);
    });
    const stopping = new AbortController();
    const running = work.run(stopping.signal);
    await waitFor('drains ask in the newer dialect', () => work.drains.preferred() === 'newer');
    assert.ok(work.drains.get(KEY));
    changed.length = 0;
    switchOff();
    await waitFor('drains ask in the older dialect', () => work.drains.preferred() === 'older');
    assert.equal(work.drains.get(KEY), undefined);
    await waitFor('the drain is told', () => changed.includes(KEY));
    stopping.abort();
    await running;
  });

  it('the pods are known for which anybody asks, and since when', async () => {
    const withdrawn = request('bar.example.com/2', { target: { pod: { name: 'db', uid: 'u' } }, intent: 'Withdrawn' });
    const { client } = createServer([request('foo.example.com/1'), withdrawn]);
    const work = createLifecycleWork(contextOf(client, 'on'), NOBODY);
    assert.deepEqual(work.drains.asked(), []);
    const stopping = new AbortController();
    const running = work.run(stopping.signal);
    await waitFor('drains ask in the newer dialect', () => work.drains.preferred() === 'newer');
    assert.deepEqual(work.drains.asked(), [{ namespace: 'shop', name: 'web', uid: UID, since: NOW }]);
    stopping.abort();
    await running;
  });

  it('a controller that speaks the older dialect goes on with what drains have asked for before', async () => {
    const { client } = createServer();
    const work = createLifecycleWork(contextOf(client, 'off'), NOBODY);
    const stopping = new AbortController();
    const running = work.run(stopping.signal);
    assert.equal(work.drains.preferred(), undefined);
    await waitFor('drains ask in the older dialect', () => work.drains.preferred() === 'older');
    assert.ok(work.drains.get(KEY));
    stopping.abort();
    await running;
  });

  it('without the group, a controller that speaks the older dialect asks once', async () => {
    const { client, switchOff } = createServer();
    switchOff();
    const work = createLifecycleWork(contextOf(client, 'off'), NOBODY);
    await work.run(new AbortController().signal);
    assert.equal(work.drains.preferred(), 'older');
    assert.equal(work.drains.mayHaveAny(), false);
  });
});
