import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubeObject } from '../../../src/api/meta.ts';
import type { KubeClient, KubeRequest } from '../../../src/kube/client.ts';
import { createPerturbingClient } from '../../perturbation/client.ts';
import { type Moment, type Plan, plansOf } from '../../perturbation/plan.ts';
import { createTrace, type Trace } from '../../perturbation/trace.ts';

const never = new AbortController().signal;
const WRITE: Moment = { actor: 'controller', kind: 'write', what: 'PATCH nodes/n1', nth: 1 };
const patch: KubeRequest = { method: 'PATCH', path: '/api/v1/nodes/n1', body: {} };

interface Event {
  readonly type: string;
  readonly object: KubeObject;
}

function pod(name: string, resourceVersion: string, type = 'MODIFIED'): Event {
  return { type, object: { metadata: { name, namespace: 'q1', resourceVersion } } };
}

/** The moment of an event of the pod `a`. */
function eventOf(nth: number): Moment {
  return { actor: 'controller', kind: 'event', what: 'pods/a', nth };
}

/** The plan of the moment with this fate. */
function planOf(moment: Moment, fate: string): Plan {
  return (
    plansOf('drain', [moment]).find(({ perturbations: [each] }) => each?.fate === fate) ??
    assert.fail(`no fate ${fate}`)
  );
}

/** A client of a program on an API server that carries everything out, and sends these events. */
function scene(
  plan: Plan | undefined,
  events: readonly Event[] = [],
): {
  readonly client: KubeClient;
  readonly sent: KubeRequest[];
  readonly trace: Trace;
  readonly ending: AbortController;
} {
  const sent: KubeRequest[] = [];
  const ending = new AbortController();
  const trace = createTrace('controller', plan, (name) => name);
  const life = {
    ended: ending.signal,
    crash: () => {
      ending.abort(new Error('ended'));
    },
  };
  const inner: KubeClient = {
    send: (request) => {
      sent.push(request);
      const items = [{ metadata: { name: 'a', namespace: 'q1', resourceVersion: '1' } }];
      return Promise.resolve({ status: 200, headers: {}, body: { metadata: { resourceVersion: '1' }, items } });
    },
    watch: async function* () {
      for (const event of events) yield await Promise.resolve(event);
    },
    close: () => undefined,
  };
  const scope = { namespace: 'q1', selector: 'plan=q1', owns: () => true };
  return { client: createPerturbingClient(inner, { scope, trace, life }), sent, trace, ending };
}

/** The versions that a watch on pods brings, after a list; ERROR where it is one. */
async function watched(client: KubeClient): Promise<readonly string[]> {
  await client.send({ method: 'GET', path: '/api/v1/pods?limit=50' }, never);
  const versions: string[] = [];
  for await (const event of client.watch('/api/v1/pods?watch=1', never)) {
    const { type, object } = event as Event;
    versions.push(type === 'ERROR' ? type : (object.metadata.resourceVersion ?? ''));
  }
  return versions;
}

describe('the client of the perturbation test', () => {
  it('without a plan everything passes, and is recorded', async () => {
    const { client, sent, trace } = scene(undefined, [pod('a', '2')]);
    assert.equal((await client.send(patch, never)).status, 200);
    assert.deepEqual(await watched(client), ['2']);
    assert.equal(sent.length, 2);
    assert.deepEqual(trace.moments, [WRITE, eventOf(1)]);
  });

  it('the program ends before the write, which is not sent then', async () => {
    const { client, sent, trace } = scene(planOf(WRITE, 'crash before'));
    await assert.rejects(client.send(patch, never), /ended/);
    assert.equal(sent.length, 0);
    assert.equal(trace.reached(), 1);
  });

  it('the program ends after the write, and sends nothing more', async () => {
    const { client, sent } = scene(planOf(WRITE, 'crash after'));
    await assert.rejects(client.send(patch, never), /ended/);
    await assert.rejects(client.send(patch, never), /ended/);
    assert.equal(sent.length, 1);
  });

  it('a lost answer is an unreachable API server, and the program goes on', async () => {
    const { client, sent } = scene(planOf(WRITE, 'answer lost'));
    await assert.rejects(client.send(patch, never), { code: 'API_UNREACHABLE' });
    assert.equal((await client.send(patch, never)).status, 200);
    assert.equal(sent.length, 2);
  });

  it('an event is held until the program has written', async () => {
    const { client } = scene(planOf(eventOf(1), 'held'), [pod('a', '2')]);
    let isWritten = false;
    const seen = watched(client).then((versions) => [isWritten, ...versions]);
    await new Promise(setImmediate);
    isWritten = true;
    await client.send(patch, never);
    assert.deepEqual(await seen, [true, '2']);
  });

  it('an event is left out where a later one is of the same object, and those between them are told', async () => {
    const events = [pod('a', '2'), pod('b', '3'), pod('a', '4'), pod('a', '5')];
    assert.deepEqual(await watched(scene(planOf(eventOf(1), 'skipped'), events).client), ['3', '4', '5']);
  });

  it('an object that came and went is never told of', async () => {
    const events = [pod('a', '2', 'ADDED'), pod('b', '3'), pod('a', '4', 'DELETED')];
    assert.deepEqual(await watched(scene(planOf(eventOf(1), 'skipped'), events).client), ['3']);
  });

  it('an event that is the last of its object is not left out', async () => {
    assert.deepEqual(await watched(scene(planOf(eventOf(1), 'skipped'), [pod('a', '2')]).client), ['2']);
  });

  it('a watch ends before an event, which the next list tells', async () => {
    const { client, sent } = scene(planOf(eventOf(1), 'told by a list'), [pod('a', '2')]);
    assert.deepEqual(await watched(client), ['ERROR']);
    const { body } = await client.send({ method: 'GET', path: '/api/v1/pods?limit=50' }, never);
    const { items } = body as { readonly items: readonly KubeObject[] };
    assert.equal(items.length, 1);
    assert.equal(sent.length, 2);
  });

  it('a watch ends, and the next list is from the past', async () => {
    const { client } = scene(planOf(eventOf(2), 'list from the past'), [pod('a', '2'), pod('a', '3')]);
    assert.deepEqual(await watched(client), ['2', 'ERROR']);
    const { body } = await client.send({ method: 'GET', path: '/api/v1/pods?limit=50' }, never);
    const { metadata, items } = body as { metadata: { resourceVersion: string }; items: readonly KubeObject[] };
    assert.equal(metadata.resourceVersion, '1');
    assert.deepEqual(
      items.map((item) => item.metadata.resourceVersion),
      ['1'],
    );
  });
});
