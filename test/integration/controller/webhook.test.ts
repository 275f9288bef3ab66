import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { Agent } from 'node:https';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { InterceptorStatus } from '../../../src/api/eviction-request.ts';
import { freePort } from '../../control-plane/port.ts';
import {
  A,
  B,
  buildWebhookRig,
  fromNow,
  progressing,
  type RunningWebhook,
  reviewOf,
  servedFingerprint,
  type WebhookRig,
  working,
} from '../../support/rigs/webhook.ts';
import { waitFor } from '../../support/wait-for.ts';

const WEBHOOK = 'times.evictionrequests.nodemaintenance.x-k8s.io';
const MONTH_MS = 30 * 24 * 3_600_000;

const EVICTED = { ...progressing('True', fromNow(0)), type: 'Evicted' };
/** The status of a request whose pod is gone. */
const END = { activeInterceptors: [], processedInterceptors: [A], conditions: [EVICTED] };

describe('the webhook for rules about times, asked by a real API server', () => {
  let rig: WebhookRig;
  let port: number;
  let otherPort: number;
  let webhook: RunningWebhook;
  let other: RunningWebhook;
  let count = 0;

  /** Makes a request of its own for a case; A is its active interceptor. */
  const begin = async (activatedSecondsAgo = 0): Promise<string> => {
    count += 1;
    await rig.begin(`u-${count}`, activatedSecondsAgo);
    return `u-${count}`;
  };
  /** The API server's words about a write that the webhook refuses whenever it is asked. */
  const wrong = async (name: string): Promise<string> => await rig.report(name, working({ startTime: fromNow(3600) }));
  /** Waits until the API server asks the webhook at this port. */
  const untilAsked = async (at: number): Promise<void> => {
    const mark = rig.logged.length;
    await waitFor(`the webhook at port ${at} is asked`, async () => {
      const answer = await wrong(await begin());
      const refusals = rig.logged.slice(mark).filter((line) => line.includes('refused status'));
      return answer.includes('in the future') && refusals.some((line) => line.includes(`"port":${at}}`));
    });
  };
  /** Waits until both replicas serve another certificate; the webhook refuses every wrong write meanwhile. */
  const untilReplaced = async (old: string): Promise<void> => {
    const name = await begin();
    const answers: string[] = [];
    await waitFor('another certificate is served by both', async () => {
      answers.push(await wrong(name));
      return (await servedFingerprint(port)) !== old && (await servedFingerprint(otherPort)) !== old;
    });
    assert.ok(answers.length > 3);
    for (const answer of answers) assert.match(answer, /in the future/);
  };
  /** How many writes the API server has asked the webhook about. */
  const asked = async (): Promise<number> => {
    const metrics = await rig.controlPlane.kubectl(['get', '--raw', '/metrics']);
    const lines = metrics.split('\n').filter((line) => {
      return line.startsWith('apiserver_admission_webhook_request_total{') && line.includes(WEBHOOK);
    });
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
  };

  before(async () => {
    rig = await buildWebhookRig();
    [port, otherPort] = [await freePort(), await freePort()];
    await rig.callAt(port);
    // Both find no certificate, and make one at the same time.
    webhook = await rig.startWebhook(port);
    other = await rig.startWebhook(otherPort);
    await untilAsked(port);
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  const cases: readonly [string, Omit<InterceptorStatus, 'name'>, RegExp | undefined][] = [
    [
      'startTime in the future',
      { startTime: fromNow(600) },
      /\.startTime was set to \S+, which is \d+ s in the future/,
    ],
    ['startTime in the past', { startTime: fromNow(-600) }, /\.startTime was set to \S+, which is \d+ s in the past/],
    [
      'heartbeatTime in the future',
      { heartbeatTime: fromNow(600) },
      /\.heartbeatTime was set to \S+, which is \d+ s in/,
    ],
    ['completionTime in the future', { completionTime: fromNow(600) }, /\.completionTime was set to \S+, .* future/],
    ['completionTime in the past', { completionTime: fromNow(-600) }, /\.completionTime was set to \S+, .* past/],
    [
      'expectedFinishTime in the past',
      { expectedFinishTime: fromNow(-600) },
      /\.expectedFinishTime was set to .* past/,
    ],
    ['expectedFinishTime in the future', { expectedFinishTime: fromNow(600) }, undefined],
  ];
  for (const [title, times, words] of cases) {
    it(`the webhook ${words === undefined ? 'accepts' : 'refuses'} a report with its ${title}`, async () => {
      const name = await begin();
      const answer = await rig.report(name, working(times));
      if (words === undefined) assert.equal(answer, '');
      else {
        assert.match(answer, words);
        assert.match(answer, new RegExp(`^422 admission webhook "${WEBHOOK}" denied the request: `));
        assert.ok(answer.includes(`EvictionRequest default/${name}: status.interceptors[${A}].`), answer);
        assert.match(answer, /it is now 20\d\d-\S+Z$/);
      }
    });
  }

  it('the webhook accepts a report of the present time, of its completion, and the advance after that', async () => {
    const name = await begin();
    assert.equal(await rig.report(name, working()), '');
    const entry = working();
    assert.equal(await rig.report(await begin(), { ...entry, completionTime: fromNow(0) }), '');
    const done = await begin();
    assert.equal(await rig.report(done, working({ completionTime: fromNow(0) })), '');
    assert.equal(await rig.control(done, { activeInterceptors: [B], processedInterceptors: [A] }), '');
  });

  it('the webhook refuses to pass over an interceptor before its 20 minutes are over, and not after', async () => {
    const passOn = { activeInterceptors: [B], processedInterceptors: [A] };
    const early = await rig.control(await begin(19 * 60), passOn);
    assert.match(early, /^422 .*advanced past actor-a\.example\.com, which has no completionTime and whose heartbeat/);
    assert.equal(await rig.control(await begin(20 * 60), passOn), '');
    const alive = await begin(25 * 60);
    assert.equal(await rig.report(alive, working()), '');
    assert.match(await rig.control(alive, passOn), /^422 .*last gave a sign of life at/);
  });

  it('the webhook lets a request end at any time', async () => {
    const name = await begin();
    assert.equal(await rig.control(name, END), '');
  });

  it('the API server asks the webhook only about writes that change a time or pass over an interceptor', async () => {
    const entry = working();
    const start = await asked();
    const name = await begin();
    assert.equal(await rig.control(await begin(), END), '');
    assert.equal(await asked(), start, 'the beginning and the end of a request pass over nobody');
    assert.equal(await rig.report(name, entry), '');
    assert.equal(await asked(), start + 1);
    assert.equal(await rig.report(name, { ...entry, message: 'nearly there' }), '');
    assert.equal(await rig.control(name, { observedGeneration: 1, conditions: [progressing('True', fromNow(0))] }), '');
    await rig.controlPlane.kubectl(['label', 'evreq', name, 'a=b']);
    assert.equal(await asked(), start + 1);
    assert.equal(await rig.report(name, { ...entry, expectedFinishTime: fromNow(60) }), '');
    assert.equal(await asked(), start + 2);
    assert.match(await rig.control(name, { activeInterceptors: [B], processedInterceptors: [A] }), /^422 /);
    assert.equal(await asked(), start + 3);
  });

  it('a second replica serves the webhook with the same certificate', async () => {
    const served = await Promise.all([servedFingerprint(port), servedFingerprint(otherPort)]);
    const stored = new X509Certificate((await rig.secret())?.['tls.crt'] ?? '');
    assert.deepEqual(served, [stored.fingerprint256, stored.fingerprint256]);
    assert.ok(stored.checkHost('nodemaint-webhook.nodemaint-system.svc'));
    await rig.callAt(otherPort);
    await untilAsked(otherPort);
    await rig.callAt(port);
    await untilAsked(port);
  });

  it('the webhook answers a body that is no review with what is wrong in it, and goes on', async () => {
    const huge = JSON.stringify(reviewOf({ padding: 'x'.repeat(4 * 1024 * 1024) }));
    const text = JSON.stringify(reviewOf({}));
    const answers: readonly [string, Promise<{ status: number }>, number][] = [
      ['another path', rig.call(port, text, { path: '/' }), 404],
      ['GET', rig.call(port, '', { method: 'GET' }), 405],
      ['HTML', rig.call(port, '<html></html>', { headers: { 'Content-Type': 'text/html' } }), 415],
      ['no JSON', rig.call(port, '<html></html>'), 400],
      ['no object', rig.call(port, 'null'), 400],
      ['an empty body', rig.call(port, ''), 400],
      ['deep', rig.call(port, '['.repeat(1_000_000)), 400],
      ['no review', rig.call(port, '{"kind":"Pod","apiVersion":"v1"}'), 400],
      ['a review without a uid', rig.call(port, text.replace('r-1', '')), 400],
      ['huge, as it says', rig.call(port, huge, { headers: { 'Content-Length': huge.length } }), 413],
      ['in chunks', rig.call(port, text, { headers: { 'Transfer-Encoding': 'chunked' } }), 411],
      ['large', rig.call(port, JSON.stringify(reviewOf({ padding: 'x'.repeat(3 * 1024 * 1024) }))), 200],
    ];
    for (const [what, answer, status] of answers) assert.equal((await answer).status, status, what);
    const strange = await rig.call(port, text.replace('"status"', '"scale"'));
    assert.match(`${strange.status} ${strange.text}`, /^200 .*"uid":"r-1","allowed":false/, 'not read, not admitted');
    await Promise.all(
      ['GET / HTTP/1.1\r\n\r\n', '\x16\x03\x01\x00\x05garbage', ''].map(async (bytes) => {
        await new Promise<void>((resolve) => {
          const socket = connect(port, '127.0.0.1', () => socket.end(bytes));
          socket.on('error', () => undefined);
          socket.resume();
          socket.on('close', () => resolve());
        });
      }),
    );
    const { text: answer } = await rig.call(port, text);
    const response = { uid: 'r-1', allowed: true };
    assert.deepEqual(JSON.parse(answer), { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response });
    assert.match(await wrong(await begin()), /in the future/);
  });

  it('the webhook replaces a damaged certificate without a gap', async () => {
    const old = await servedFingerprint(port);
    const data = JSON.stringify({ data: { 'tls.crt': 'Z2FyYmFnZQ==' } });
    await rig.controlPlane.kubectl(['-n', 'nodemaint-system', 'patch', 'secret', 'nodemaint-webhook', '-p', data]);
    await untilReplaced(old);
  });

  it('the webhook renews an expiring certificate while its connections and the reviews go on', async () => {
    await Promise.all([webhook.stop(), other.stop()]);
    await rig.controlPlane.kubectl(['-n', 'nodemaint-system', 'delete', 'secret', 'nodemaint-webhook']);
    // Made nine months ago: valid still, but for less than a third of its life.
    webhook = await rig.startWebhook(port, -9 * MONTH_MS);
    other = await rig.startWebhook(otherPort, -9 * MONTH_MS);
    await untilAsked(port);
    const old = await servedFingerprint(port);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const sockets = new Set<unknown>();
    agent.on('free', (socket) => sockets.add(socket));
    const review = JSON.stringify(reviewOf({}));
    const ca = (await rig.secret())?.['ca.crt'] ?? '';
    const call = async (): Promise<number> => (await rig.call(port, review, { agent, ca })).status;
    assert.equal(await call(), 200);
    [webhook.aheadMs, other.aheadMs] = [0, 0];
    await untilReplaced(old);
    const fresh = new X509Certificate((await rig.secret())?.['tls.crt'] ?? '');
    const found = [await servedFingerprint(port), await servedFingerprint(otherPort)];
    assert.deepEqual(found, Array(2).fill(fresh.fingerprint256));
    assert.ok(fresh.validToDate.getTime() > Date.now() + 11 * MONTH_MS);
    assert.equal(await call(), 200);
    assert.equal(sockets.size, 1, 'the connection outlived the renewal');
    agent.destroy();
    // An API server that connects again trusts the new certificate.
    await webhook.stop();
    assert.equal(await wrong(await begin()), '');
    webhook = await rig.startWebhook(port);
    await untilAsked(port);
    assert.equal(await servedFingerprint(port), fresh.fingerprint256);
  });

  it('the webhook never logs its private key', async () => {
    const key = (await rig.secret())?.['tls.key'] ?? '';
    assert.match(key, /PRIVATE KEY/);
    const lines = rig.logged.join('\n');
    assert.match(lines, /made a certificate for the webhook/);
    const secrets = ['PRIVATE KEY', key.split('\n')[1] ?? '', Buffer.from(key).toString('base64').slice(40, 120)];
    for (const secret of secrets) assert.ok(secret.length > 8 && !lines.includes(secret));
  });

  it('the controller says when the address of the webhook is taken', async () => {
    const third = await rig.startWebhook(port);
    await assert.rejects(third.running, { code: 'LISTEN_FAILED' });
  });

  it('the API server delays no write when no replica is there', async () => {
    await Promise.all([webhook.stop(), other.stop()]);
    assert.equal(await wrong(await begin()), '');
  });
});
