import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubeObject } from '../../../../src/api/meta.ts';
import {
  createGivenCertificate,
  createOwnCertificate,
  type ReconcileCertificate,
} from '../../../../src/controller/webhook/certificate-secret.ts';
import { createSystemClock } from '../../../../src/host/clock.ts';
import { issueServingCertificate } from '../../../../src/kube/certificate/issue.ts';
import type { KubeClient, KubeRequest } from '../../../../src/kube/client.ts';

type Stored = KubeObject & Record<string, unknown>;

/** An API server with the Secret and the webhook configuration, each undefined where it does not exist. */
class FakeServer {
  readonly sent: string[] = [];
  readonly logged: string[] = [];
  secret: Stored | undefined;
  configuration: Stored | undefined = {
    metadata: { name: 'nodemaint-webhook', uid: 'u-1', resourceVersion: '1' },
    webhooks: [{ name: 'one.example.com' }, { name: 'two.example.com' }],
  };
  /** This many of the next writes are refused with a conflict. */
  conflicts = 0;

  readonly client: KubeClient = {
    send: (request) => Promise.resolve({ headers: {}, ...this.#answer(request) }),
    watch: () => {
      throw new Error('nothing is watched');
    },
    close: () => undefined,
  };

  readonly log = {
    debug: (): void => undefined,
    info: (_: object, text: string): unknown => this.logged.push(text),
    warn: (_: object, text: string): unknown => this.logged.push(text),
    error: (): void => undefined,
  };

  #answer({ method, path, body }: KubeRequest): { status: number; body: unknown } {
    const isSecret = path.includes('/secrets');
    this.sent.push(`${method} ${isSecret ? 'secret' : 'configuration'}`);
    const stored = isSecret ? this.secret : this.configuration;
    if (method === 'GET') return { status: stored === undefined ? 404 : 200, body: stored };
    if (this.conflicts > 0) {
      this.conflicts -= 1;
      return { status: 409, body: {} };
    }
    if (isSecret) this.secret = { ...this.secret, ...(body as Stored) };
    else this.configuration = { ...this.configuration, ...(body as Stored) };
    return { status: 200, body };
  }
}

const HOSTS = ['webhook.system.svc'];
const signal = AbortSignal.timeout(60_000);

function reconcilerOf({ client, log }: FakeServer): ReconcileCertificate {
  return createOwnCertificate(HOSTS, { client, clock: createSystemClock(), log });
}

describe("the manager of the webhook's certificate", () => {
  it('the manager creates the certificate, makes the API servers trust it, and writes nothing after that', async () => {
    const server = new FakeServer();
    const reconcile = reconcilerOf(server);
    const { serving, trustChanged } = await reconcile(signal);
    assert.equal(trustChanged, true);
    assert.deepEqual(server.sent.splice(0), ['GET configuration', 'GET secret', 'POST secret', 'PATCH configuration']);
    const caBundle = Buffer.from(serving.authorities).toString('base64');
    assert.deepEqual(server.configuration?.['webhooks'], [
      { name: 'one.example.com', clientConfig: { caBundle } },
      { name: 'two.example.com', clientConfig: { caBundle } },
    ]);
    assert.deepEqual(await reconcile(signal), { serving, trustChanged: false });
    assert.deepEqual(server.sent, ['GET configuration', 'GET secret']);
  });

  it('a conflict fails, and the next try reads both objects again', async () => {
    const server = new FakeServer();
    server.conflicts = 2;
    const message = /^another client has changed the (Secret nodemaint-system.nodemaint-webhook|Validating\S+) /;
    for (let tries = 0; tries < 2; tries += 1) {
      await assert.rejects(reconcilerOf(server)(signal), { code: 'API_REFUSED', message });
    }
    await reconcilerOf(server)(signal);
    for (const what of ['GET configuration', 'POST secret'])
      assert.equal(server.sent.filter((each) => each === what).length, 3);
  });

  it('the manager logs once that there is no webhook configuration, until there was one again', async () => {
    const server = new FakeServer();
    const { configuration } = server;
    const reconcile = reconcilerOf(server);
    const missing = (): number => server.logged.filter((each) => each.startsWith('no webhook configuration')).length;
    server.configuration = undefined;
    assert.equal((await reconcile(signal)).trustChanged, false);
    await reconcile(signal);
    assert.equal(missing(), 1);
    server.configuration = configuration;
    assert.equal((await reconcile(signal)).trustChanged, true);
    server.configuration = undefined;
    await reconcile(signal);
    assert.equal(missing(), 2);
  });
});

describe('a certificate of the webhook that another program keeps', () => {
  const encode = (text: string): string => Buffer.from(text).toString('base64');
  const issue = (now = Date.now()): ReturnType<typeof issueServingCertificate> =>
    issueServingCertificate({ hosts: ['w'], notBefore: now - 1_000, notAfter: now + 60_000 });
  const secretOf = (certificate: string, key: string): Stored => ({
    metadata: { name: 'nodemaint-webhook' },
    data: { 'tls.crt': encode(certificate), 'tls.key': encode(key) },
  });

  it('it is read from its Secret each time, and nothing is written', async () => {
    const server = new FakeServer();
    const reconcile = createGivenCertificate(server.client);
    for (const { certificate, key } of [await issue(), await issue()]) {
      server.secret = secretOf(certificate, key);
      const { serving, trustChanged } = await reconcile(signal);
      assert.deepEqual([serving.certificate, serving.key, trustChanged], [certificate, key, false]);
    }
    assert.deepEqual(server.sent, ['GET secret', 'GET secret']);
  });

  it('a Secret that is missing, is damaged, or has the key of another certificate is said so', async () => {
    const server = new FakeServer();
    const reconcile = createGivenCertificate(server.client);
    const [one, other] = [await issue(), await issue()];
    for (const [secret, message] of [
      [undefined, /^the Secret nodemaint-system\/nodemaint-webhook is not there; --webhook-certificate=secret leaves/],
      [{ metadata: { name: 'nodemaint-webhook' } }, /it cannot be read$/],
      [secretOf(one.certificate, other.key), /its key does not fit$/],
    ] as const) {
      server.secret = secret;
      await assert.rejects(reconcile(signal), { code: 'API_REFUSED', message });
    }
  });
});
