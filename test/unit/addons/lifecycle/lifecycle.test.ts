/** The controllers on an API server in memory, which judges no write. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runLifecycle } from '../../../../src/addons/lifecycle/lifecycle.ts';
import type { Eviction, LifecycleRequest } from '../../../../src/api/lifecycle.ts';
import type { KubeObject } from '../../../../src/api/meta.ts';
import { createSystemClock } from '../../../../src/host/clock.ts';
import type { KubeClient, KubeResponse } from '../../../../src/kube/client.ts';
import { EVICTIONS, LIFECYCLE_REQUESTS } from '../../../../src/kube/lifecycle/resources.ts';
import { collectionPath, objectPath, PODS, type Resource } from '../../../../src/kube/resource.ts';
import { SILENT_LOG } from '../../../support/silent-log.ts';
import { createObjectStore } from '../../../support/stand-ins/object-store.ts';
import { type Json, mergePatch } from '../../../support/stand-ins/patches.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { pod, request } from '../../decide/lifecycle/objects.ts';

const NAMESPACE = 'shop';
const KINDS = [LIFECYCLE_REQUESTS, EVICTIONS, PODS];

interface Server {
  readonly client: KubeClient;
  readonly evicted: string[];
  put(resource: Resource, object: KubeObject): void;
  get(resource: Resource, name: string): KubeObject | undefined;
}

/** Entries of responders are merged by their names, as by an apply. */
function appliedStatus(old: KubeObject, body: Json): KubeObject {
  const status = (old as unknown as { status?: { responders?: { name: string }[] } }).status ?? {};
  const fresh = (body['status'] as { responders: { name: string }[] }).responders;
  const responders = (status.responders ?? []).map((each) => {
    const start = 'startTime' in each ? { startTime: each.startTime } : {};
    const mine = fresh.find(({ name }) => name === each.name);
    return mine === undefined ? each : { ...start, ...mine };
  });
  return { ...old, status: { ...status, responders } } as unknown as KubeObject;
}

/** An API server that serves the group; an eviction removes the pod. */
function createServer(): Server {
  const store = createObjectStore();
  const objects = new Map<string, KubeObject>();
  const evicted: string[] = [];
  let versions = 0;
  const put = (resource: Resource, object: KubeObject): KubeObject => {
    versions += 1;
    const metadata = { generation: 1, uid: `uid-${versions}`, ...object.metadata, resourceVersion: `v${versions}` };
    const stored = { ...object, metadata: { ...metadata, namespace: NAMESPACE } };
    store.put(resource, stored);
    objects.set(objectPath(resource, stored.metadata), stored);
    return stored;
  };
  const answer = (status: number, body?: unknown): KubeResponse => ({ status, headers: {}, body });
  const send: KubeClient['send'] = async (sent, signal) => {
    const [path = ''] = sent.path.split('?');
    const body = (sent.body ?? {}) as Json;
    if (path === '/apis/lifecycle.k8s.io/v1alpha1') {
      return answer(200, { resources: [{ name: 'evictionrequests' }, { name: 'evictions' }] });
    }
    if (path.endsWith('/eviction')) {
      const name = path.split('/').at(-2) ?? '';
      evicted.push(name);
      objects.delete(objectPath(PODS, { name, namespace: NAMESPACE }));
      store.remove(PODS, `${NAMESPACE}/${name}`);
      return answer(201, {});
    }
    const resource = KINDS.find((each) => path.startsWith(collectionPath(each, NAMESPACE)));
    const old = objects.get(path.replace(/\/status$/, ''));
    if (sent.method === 'POST' && resource !== undefined)
      return answer(201, put(resource, body as unknown as KubeObject));
    if (sent.method === 'PATCH' && resource !== undefined && old !== undefined) {
      const { metadata } = old;
      const isApplied = sent.patch?.kind === 'apply';
      const fresh =
        isApplied && path.endsWith('/status') ? appliedStatus(old, body) : (mergePatch(old, body) as KubeObject);
      return answer(200, put(resource, { ...fresh, metadata: { ...fresh.metadata, uid: metadata.uid ?? '' } }));
    }
    if (sent.method === 'GET' && resource !== undefined && path !== collectionPath(resource, NAMESPACE)) {
      return old === undefined ? answer(404, {}) : answer(200, old);
    }
    return await store.client.send(sent, signal);
  };
  return {
    client: { ...store.client, send },
    evicted,
    put,
    get: (resource, name) => objects.get(objectPath(resource, { name, namespace: NAMESPACE })),
  };
}

describe('the controllers of lifecycle.k8s.io', () => {
  it('a pod that somebody asks for gets an Eviction, is evicted, and both objects say so', async () => {
    const server = createServer();
    server.put(PODS, pod({}, { evictionResponders: [] }));
    const asked = request();
    server.put(LIFECYCLE_REQUESTS, asked);
    const stopping = new AbortController();
    const dependencies = { client: server.client, clock: createSystemClock(), log: SILENT_LOG };
    const running = runLifecycle(dependencies, {}, stopping.signal);
    const says = (object: KubeObject | undefined): boolean =>
      (object as Eviction | LifecycleRequest | undefined)?.status?.conditions?.some(
        ({ type, status }) => type === 'TargetEvicted' && status === 'True',
      ) === true;
    await waitFor('the Eviction says it', () => says(server.get(EVICTIONS, 'pod-1-web')));
    await waitFor('the request says it', () => says(server.get(LIFECYCLE_REQUESTS, asked.metadata.name)));
    assert.deepEqual(server.evicted, ['web']);
    const eviction = server.get(EVICTIONS, 'pod-1-web') as Eviction;
    assert.deepEqual(
      eviction.status?.targetResponders?.map(({ name }) => name),
      ['imperative-eviction.k8s.io/evictor'],
    );
    stopping.abort();
    await running;
  });
});
