import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubeObject } from '../../../../src/api/meta.ts';
import type { KubeClient } from '../../../../src/kube/client.ts';
import { isLifecycleServed } from '../../../../src/kube/lifecycle/discovery.ts';
import { readEviction, readLifecycleRequest } from '../../../../src/kube/lifecycle/parse.ts';

const never = new AbortController().signal;
const metadata = { name: 'pod-1-web', namespace: 'shop', uid: 'u', resourceVersion: '7' };
const target = { pod: { name: 'web', uid: '3d7fdff1-3fe5-48b9-b106-1ee24b0277f6' } };

function withStatus(status: unknown): KubeObject {
  return { metadata, spec: { target }, status } as unknown as KubeObject;
}

describe('an object of lifecycle.k8s.io as it is read', () => {
  it('an Eviction keeps what the rules need, and nothing else', () => {
    const turn = { name: 'a.io/b', priority: 1000, state: 'Active', extra: 1 };
    const { read } = readEviction(withStatus({ targetResponders: [turn], other: 'x' }));
    const { extra: _, ...kept } = turn;
    assert.deepEqual(read, { metadata, spec: { target }, status: { targetResponders: [kept] } });
  });

  it('an object of another shape, or larger than the API allows, is not acted on', () => {
    const many = Array.from({ length: 101 }, (__, index) => ({ name: `r${index}.io/x`, intent: 'Eviction' }));
    for (const status of [
      'text',
      { targetResponders: [{ name: 'a.io/b', priority: 1000, state: 'Sleeping' }] },
      { targetResponders: {} },
      { requesters: many },
      { responders: [{ name: 'a.io/b', message: 'x'.repeat(10_000) }] },
      { conditions: [{ type: 'Failed', status: 'Maybe', reason: '', message: '', lastTransitionTime: '' }] },
    ]) {
      assert.deepEqual(readEviction(withStatus(status)), { metadata });
    }
    const request = { metadata, spec: { target, requester: 'a.io/b', intent: 'Sometimes' } } as KubeObject;
    assert.deepEqual(readLifecycleRequest(request), { metadata });
  });

  it('nothing is taken from the list of those who wrote an object: a client chooses its name there', () => {
    const managedFields = [{ manager: 'evictionrequest-controller', time: '2099-01-01T00:00:00Z' }];
    const object = { metadata: { ...metadata, managedFields }, spec: { target } } as KubeObject;
    assert.deepEqual(readEviction(object), { metadata, read: { metadata, spec: { target } } });
  });
});

/** A client that gives one answer. */
function answering(status: number, body: unknown, headers = {}): KubeClient {
  return {
    send: () => Promise.resolve({ status, headers, body }),
    watch: () => {
      throw new Error('not used');
    },
    close: () => undefined,
  };
}

describe('the question whether a cluster serves the group', () => {
  it('the answer is yes only where both resources are served', async () => {
    const both = { resources: [{ name: 'evictions' }, { name: 'evictionrequests' }, { name: 'evictions/status' }] };
    assert.equal(await isLifecycleServed(answering(200, both), never), true);
    assert.equal(await isLifecycleServed(answering(200, { resources: [{ name: 'evictions' }] }), never), false);
    assert.equal(await isLifecycleServed(answering(200, { resources: 'x' }), never), false);
    assert.equal(await isLifecycleServed(answering(404, {}), never), false);
    await assert.rejects(isLifecycleServed(answering(403, { message: 'no' }), never), /no/);
  });
});
