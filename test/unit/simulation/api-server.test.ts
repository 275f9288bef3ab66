/** The model of the API server, where the comparison with a real one (test/integration/simulation) would be too late. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubeObject } from '../../../src/api/meta.ts';
import { collectionPath, EVICTION_REQUESTS, LEASES, objectPath, PODS } from '../../../src/kube/resource.ts';
import { requestersPatch } from '../../support/eviction/requesters.ts';
import { createModelServer, type ModelServer } from '../../simulation/api-server/server.ts';

const POD = { name: 'p', namespace: 'x', uid: 'u' };

function server(): ModelServer {
  return createModelServer(() => Date.UTC(2026, 0, 1));
}

function ask(model: ModelServer, manager: string, names: readonly string[]): unknown {
  return model.handle(requestersPatch(POD, manager, names), 'test').body;
}

/** All events of a watch that there are. */
function events(model: ModelServer, path: string): readonly string[] {
  const watching = model.watch(path);
  const found: string[] = [];
  for (let next = watching.next(); next !== undefined; next = watching.next()) found.push(next.event.type);
  return found;
}

describe('the model of the API server', () => {
  it('an apply takes away what its manager leaves out, and leaves what others have applied', () => {
    const model = server();
    ask(model, 'one', ['a.example.com']);
    ask(model, 'two', ['b.example.com']);
    const both = ask(model, 'one', ['a.example.com']) as { spec: { requesters: readonly { name: string }[] } };
    assert.deepEqual(
      both.spec.requesters.map(({ name }) => name),
      ['a.example.com', 'b.example.com'],
    );
    const left = ask(model, 'one', []) as typeof both;
    assert.deepEqual(left.spec.requesters, [{ name: 'b.example.com' }]);
  });

  it('an apply that fills a map which it had set while it was empty keeps its entries', () => {
    const model = server();
    const path = objectPath(PODS, { name: 'p', namespace: 'x' });
    const mark = (annotations: object): unknown => {
      const body = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'x', annotations }, spec: {} };
      return model.handle({ method: 'PATCH', path, body, patch: { kind: 'apply', manager: 'one' } }, 'test').body;
    };
    mark({});
    const filled = mark({ a: 'b' }) as KubeObject;
    assert.deepEqual(filled.metadata.annotations, { a: 'b' });
    assert.equal((mark({}) as KubeObject).metadata.annotations, undefined);
  });

  it('a second eviction of a pod that ends changes nothing', () => {
    const model = server();
    const place = { name: 'p', namespace: 'x' };
    const body = { apiVersion: 'v1', kind: 'Pod', metadata: place, spec: { nodeName: 'n' } };
    model.handle({ method: 'POST', path: collectionPath(PODS, 'x'), body }, 'test');
    const path = objectPath(PODS, place, 'eviction');
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: place };
    for (const _ of [1, 2]) model.handle({ method: 'POST', path, body: eviction }, 'test');
    const watched = `${collectionPath(PODS)}?resourceVersion=1`;
    assert.deepEqual(events(model, watched), ['ADDED', 'MODIFIED', 'MODIFIED']);
  });

  it('a write that changes nothing has no revision and no event', () => {
    const model = server();
    const first = ask(model, 'one', ['a.example.com']) as KubeObject;
    const again = ask(model, 'one', ['a.example.com']) as KubeObject;
    assert.equal(again.metadata.resourceVersion, first.metadata.resourceVersion);
    assert.deepEqual(events(model, `${collectionPath(EVICTION_REQUESTS)}?watch=1&resourceVersion=1`), ['ADDED']);
  });

  it('a watch shows what enters and leaves its selection, and ends with 410 where its revision is forgotten', () => {
    const model = server();
    const path = collectionPath(PODS, 'x');
    const body = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', labels: { a: 'b' } }, spec: {} };
    model.handle({ method: 'POST', path, body }, 'test');
    const patch = (value: string | null): object => ({ metadata: { labels: { a: value } } });
    for (const value of ['c', 'b', 'b', null]) {
      const change = { method: 'PATCH', path: `${path}/p`, body: patch(value), patch: { kind: 'merge' } } as const;
      model.handle(change, 'test');
    }
    const watched = `${collectionPath(PODS)}?labelSelector=a%3Db&resourceVersion=1`;
    assert.deepEqual(events(model, watched), ['ADDED', 'DELETED', 'ADDED', 'DELETED']);
    model.compact();
    assert.deepEqual(events(model, watched), ['ERROR']);
  });

  it('a pod with a grace period stays until it is deleted without one, and a finalizer keeps it after that', () => {
    const model = server();
    const place = { name: 'p', namespace: 'x' };
    const metadata = { ...place, finalizers: ['x.example.com/y'] };
    const body = { apiVersion: 'v1', kind: 'Pod', metadata, spec: { nodeName: 'n' } };
    model.handle({ method: 'POST', path: collectionPath(PODS, 'x'), body }, 'test');
    const path = objectPath(PODS, place);
    const now = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 };
    const get = (): KubeObject | undefined => model.objects.get('Pod', 'x/p')?.object;
    model.handle({ method: 'DELETE', path }, 'test');
    assert.equal(get()?.metadata.deletionTimestamp, '2026-01-01T00:00:30Z');
    model.handle({ method: 'DELETE', path, body: now }, 'test');
    assert.equal(get()?.metadata.deletionTimestamp, '2026-01-01T00:00:00Z');
    model.handle({ method: 'PATCH', path, body: { metadata: { finalizers: null } }, patch: { kind: 'merge' } }, 'test');
    assert.equal(get(), undefined);
  });

  it('of two writers who have read the same Lease, one writes', () => {
    const model = server();
    const place = { name: 'l', namespace: 'x' };
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: place, spec: {} };
    const made = model.handle({ method: 'POST', path: collectionPath(LEASES, 'x'), body: lease }, 'test');
    const write = (holderIdentity: string): number => {
      const body = { ...(made.body as object), spec: { holderIdentity } };
      return model.handle({ method: 'PUT', path: objectPath(LEASES, place), body }, 'test').status;
    };
    assert.deepEqual([write('a'), write('b')], [200, 409]);
  });
});
