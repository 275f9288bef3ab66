import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { type AddressInfo, Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { issueServingCertificate } from '../../../src/kube/certificate/issue.ts';
import type { ClusterAccess } from '../../../src/kube/access/cluster.ts';
import { createKubeClient, type KubeClient } from '../../../src/kube/client.ts';

const MAX_BYTES = 1_000;
const OBJECT = '{"kind":"Pod","apiVersion":"v1"}';
const STATUS = '{"kind":"Status","apiVersion":"v1"}';

interface Received {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

async function eventsOf(watch: AsyncIterable<unknown>): Promise<readonly unknown[]> {
  const events: unknown[] = [];
  for await (const event of watch) events.push(event);
  return events;
}

describe('the client of an API server', () => {
  const received: Received[] = [];
  let answer: (response: ServerResponse) => void = (response) => response.end(OBJECT);
  let client: KubeClient;
  let access: ClusterAccess;
  let origin: string;
  const closing = new AsyncDisposableStack();
  const signal = AbortSignal.timeout(30_000);

  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const { method, url, headers } = request;
    received.push({ method, url, headers, body: Buffer.concat(chunks).toString('utf8') });
    response.setHeader('content-type', 'application/json');
    answer(response);
  };

  /** The answers to requests of such paths, which wait; others are answered at once. */
  const hold = (path: string): ServerResponse[] => {
    const held: ServerResponse[] = [];
    answer = (response) => (received.at(-1)?.url?.endsWith(path) === true ? held.push(response) : response.end(OBJECT));
    return held;
  };

  before(async () => {
    const [notBefore, notAfter] = [Date.now() - 60_000, Date.now() + 3_600_000];
    const { certificate, key } = await issueServingCertificate({ hosts: ['127.0.0.1'], notBefore, notAfter });
    const server = createServer({ cert: certificate, key }, (request, response) => {
      receive(request, response).catch(() => response.destroy());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    access = {
      server: new URL(`${origin}/prefix/`),
      authenticate: (options: object): Promise<void> => {
        Object.assign(options, { ca: certificate, headers: { Authorization: 'Bearer token' } });
        return Promise.resolve();
      },
    };
    client = createKubeClient(access, 'the-test', MAX_BYTES);
    closing.defer(() => {
      client.close();
      server.closeAllConnections();
      server.close();
    });
  });
  after(async () => {
    await closing.disposeAsync();
  });

  it('a request is given up after the time that a person has named, and is not while it lasts', async () => {
    answer = (response) => {
      response.write(OBJECT.slice(0, 1));
      setTimeout(() => response.end(OBJECT.slice(1)), 400).unref();
    };
    const late = createKubeClient(access, 'the-test', MAX_BYTES, 50);
    closing.defer(() => late.close());
    await assert.rejects(late.send({ method: 'GET', path: '/slow' }, signal), /GET \/slow: not within 0\.05 s$/);
    const patient = createKubeClient(access, 'the-test', MAX_BYTES, 0);
    closing.defer(() => patient.close());
    assert.equal((await patient.send({ method: 'GET', path: '/slow' }, signal)).status, 200);
  });

  it('the client waits for credentials no longer than its signal lasts', async () => {
    const hanging = createKubeClient({ ...access, authenticate: () => new Promise(() => undefined) }, 'the-test');
    const sent = hanging.send({ method: 'GET', path: '/x' }, AbortSignal.timeout(50));
    await assert.rejects(Promise.race([sent, delay(5_000)]), { name: 'TimeoutError' });
  });

  it('the client gives each of several addresses some seconds, and tells what it is given of a refusal', async (t) => {
    const connect = t.mock.method(Socket.prototype, 'connect');
    let refusals = 0;
    const told = createKubeClient({ ...access, refused: () => (refusals += 1) }, 'the-test', MAX_BYTES);
    closing.defer(() => told.close());
    answer = (response) => response.writeHead(401).end(STATUS);
    assert.equal((await told.send({ method: 'GET', path: '/x' }, signal)).status, 401);
    assert.equal(refusals, 1);
    const [options] = connect.mock.calls.map(({ arguments: [given] }) => given as unknown as object);
    const found = options && 'autoSelectFamilyAttemptTimeout' in options && options.autoSelectFamilyAttemptTimeout;
    assert.equal(found, 4_000);
  });

  it('an answer that drips and never ends is given up although its connection is never silent', async (t) => {
    const { timeout } = AbortSignal;
    t.mock.method(AbortSignal, 'timeout', (ms: number) => timeout.call(AbortSignal, ms === 120_000 ? 100 : ms));
    answer = (response) => {
      const drip = setInterval(() => response.write(' '), 10);
      response.on('close', () => clearInterval(drip));
    };
    await assert.rejects(client.send({ method: 'GET', path: '/drip' }, signal), /GET \/drip: not within 120 s$/);
  });

  it('the client sends requests while it has many watches', async () => {
    const open: ServerResponse[] = [];
    answer = (response) => {
      open.push(response);
      response.write('{}\n');
    };
    const watches = Array.from({ length: 20 }, () => client.watch('/watch', signal)[Symbol.asyncIterator]());
    await Promise.all(watches.map((watch) => watch.next()));
    answer = (response) => response.end(OBJECT);
    assert.equal((await client.send({ method: 'GET', path: '/x' }, signal)).status, 200);
    for (const each of open) each.end();
    for (const watch of watches) await watch.return?.();
  });

  it('the client answers other requests while webhooks hold up evictions', async () => {
    const held = hold('/eviction');
    const evictions = Array.from({ length: 40 }, () =>
      client.send({ method: 'POST', path: '/x/eviction', body: {}, behindWebhooks: true }, signal),
    );
    while (held.length < 40) await new Promise(setImmediate);
    assert.equal((await client.send({ method: 'GET', path: '/y' }, signal)).status, 200);
    for (const response of held) response.end(OBJECT);
    await Promise.all(evictions);
  });

  it('the client answers other requests while many patient ones wait, and sends few of these at a time', async () => {
    const held = hold('/events');
    const events = Array.from({ length: 20 }, () =>
      client.send({ method: 'POST', path: '/x/events', body: {}, patient: true }, signal),
    );
    while (held.length < 4) await new Promise(setImmediate);
    const others = Array.from({ length: 20 }, () => client.send({ method: 'GET', path: '/y' }, signal));
    assert.deepEqual(new Set((await Promise.all(others)).map(({ status }) => status)), new Set([200]));
    assert.equal(held.length, 4);
    answer = (response) => response.end(OBJECT);
    for (const response of held) response.end(OBJECT);
    await Promise.all(events);
  });

  it('the client sends a request below the path of the server, with its credentials and the type and length of its body', async () => {
    answer = (response) => response.writeHead(201).end(STATUS);
    const body = { name: 'ä' };
    const request = { method: 'DELETE', path: '/api/v1/x', body, as: 'somebody' } as const;
    const { status, body: parsed } = await client.send(request, signal);
    assert.deepEqual([status, parsed], [201, JSON.parse(STATUS)]);
    const { method, url, headers, body: text } = received.at(-1) ?? assert.fail();
    assert.deepEqual([method, url, text], ['DELETE', '/prefix/api/v1/x', JSON.stringify(body)]);
    assert.equal(headers['authorization'], 'Bearer token');
    assert.equal(headers['user-agent'], 'the-test');
    assert.equal(headers['accept'], 'application/json');
    assert.equal(headers['impersonate-user'], 'somebody');
    assert.equal(headers['content-type'], 'application/json');
    assert.equal(headers['content-length'], '13');
  });

  it('the client names the field manager of a server-side apply, and asks for names only', async () => {
    answer = (response) => response.end(OBJECT);
    const patch = { kind: 'apply', manager: 'a b' } as const;
    const request = { method: 'PATCH', path: '/x?dryRun=All', body: {}, patch, namesOnly: true } as const;
    await client.send(request, signal);
    const { url, headers } = received.at(-1) ?? assert.fail();
    assert.equal(url, '/prefix/x?dryRun=All&fieldManager=a%20b&force=true');
    assert.equal(headers['content-type'], 'application/apply-patch+yaml');
    assert.match(headers['accept'] ?? '', /as=PartialObjectMetadataList/);
  });

  const JSON_TYPE = 'application/json';
  const PLAIN = 'text/plain; charset=utf-8';
  const strange: readonly [string, 'GET' | 'PATCH', number, string, string][] = [
    ['the page of a login', 'GET', 200, 'text/html', '<html>Log in</html>'],
    ['an object of another type', 'GET', 200, PLAIN, OBJECT],
    ['JSON of somebody else', 'GET', 200, JSON_TYPE, '{"ok":true}'],
    ['JSON that is no object', 'GET', 200, JSON_TYPE, 'null'],
    ['no JSON', 'GET', 200, JSON_TYPE, '{'],
    ['a Status in the place of what was asked for', 'GET', 200, JSON_TYPE, STATUS],
    ['a Status in the place of what was changed', 'PATCH', 200, JSON_TYPE, STATUS],
    ['a page that says that nothing is there', 'GET', 404, 'text/html', '<html>Not found</html>'],
    ['words that say that nothing is there', 'GET', 404, PLAIN, 'default backend - 404'],
    ['an object with the status of an error', 'GET', 404, JSON_TYPE, OBJECT],
    ['the page of a load balancer', 'GET', 503, 'text/html', '<html>No server</html>'],
  ];
  for (const [what, method, status, type, text] of strange) {
    it(`the client takes ${what} for no answer of an API server`, async () => {
      answer = (response) => response.writeHead(status, { 'content-type': type }).end(text);
      const message = new RegExp(`to ${method} /x: .* no API server .*\\(HTTP ${status}, ${type.split(';')[0]}`);
      await assert.rejects(client.send({ method, path: '/x' }, signal), { code: 'API_UNREACHABLE', message });
    });
  }

  it('the client believes what an API server says in plain words', async () => {
    for (const [status, text] of [
      [404, '404 page not found\n'],
      [429, 'Too many requests, please try again later.\n'],
      [503, 'service unavailable\n'],
    ] as const) {
      answer = (response) => response.writeHead(status, { 'content-type': PLAIN }).end(text);
      assert.deepEqual((await client.send({ method: 'GET', path: '/x' }, signal)).body, { message: text });
    }
  });

  it('the client refuses an answer that is too large, and reports a connection that breaks', async () => {
    answer = (response) => response.end('x'.repeat(MAX_BYTES + 1));
    const request = { method: 'GET', path: '/large' } as const;
    const message = 'the answer of GET /large has more than 1000 bytes';
    await assert.rejects(client.send(request, signal), { code: 'API_ANSWER_TOO_LARGE', message });
    answer = (response) => response.destroy();
    await assert.rejects(client.send(request, signal), {
      code: 'API_UNREACHABLE',
      message: new RegExp(`^no answer from ${origin} to GET /large: `),
    });
  });

  it('the client rejects with the reason of the signal', async () => {
    answer = () => undefined;
    const stop = new AbortController();
    const sending = client.send({ method: 'GET', path: '/slow' }, stop.signal);
    setTimeout(() => stop.abort(new Error('stopped')), 50);
    await assert.rejects(sending, /^Error: stopped$/);
  });

  it('a watch yields each event, and its status as an error where the server refuses it', async () => {
    answer = (response) => response.end('{"type":"ADDED"}\n{"type":"BOOKMARK"}\n');
    assert.deepEqual(await eventsOf(client.watch('/w?watch=1', signal)), [{ type: 'ADDED' }, { type: 'BOOKMARK' }]);
    answer = (response) => response.writeHead(410).end('gone');
    assert.deepEqual(await eventsOf(client.watch('/w', signal)), [{ type: 'ERROR', object: { code: 410 } }]);
  });

  it('a watch refuses an event that is too large, after those before it', async () => {
    answer = (response) => response.end(`{"type":"ADDED"}\n${'x'.repeat(MAX_BYTES + 1)}\n`);
    const events: unknown[] = [];
    const reading = async (): Promise<void> => {
      for await (const event of client.watch('/w', signal)) events.push(event);
    };
    await assert.rejects(reading(), { code: 'API_ANSWER_TOO_LARGE', message: /^an event of GET \/w has more/ });
    assert.deepEqual(events, [{ type: 'ADDED' }]);
  });
});
