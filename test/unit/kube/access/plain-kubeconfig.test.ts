import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import path from 'node:path';
import { describe, it } from 'node:test';
import { type ClusterAccess, loadClusterAccess, openClusterAccess } from '../../../../src/kube/access/cluster.ts';
import { certifiedNodeName } from '../../../../src/kube/own-identity.ts';
import { parsePlainKubeconfig } from '../../../../src/kube/access/plain-kubeconfig.ts';
import { createKubeClient } from '../../../../src/kube/client.ts';
import { temporaryFolder } from '../../../support/folder.ts';

interface Parts {
  readonly cluster?: object;
  readonly user?: object;
  readonly top?: object;
}

function kubeconfig({ cluster = {}, user = {}, top = {} }: Parts): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'here',
    contexts: [{ name: 'here', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:6443', ...cluster } }],
    users: [{ name: 'u', user }],
    ...top,
  });
}

const EXEC = { apiVersion: 'client.authentication.k8s.io/v1', command: 'x' };

const data = (text: string): string => Buffer.from(text).toString('base64');

async function optionsOf(content: string, file: string): Promise<RequestOptions> {
  const options: RequestOptions = {};
  await parsePlainKubeconfig(content, file)?.authenticate(options);
  return options;
}

describe('a plain kubeconfig', () => {
  it('a plain kubeconfig gives certificates, keys and tokens, inline data before files', async (t) => {
    const folder = await temporaryFolder(t, 'kubeconfig');
    await writeFile(path.join(folder, 'client.pem'), 'first');
    await writeFile(path.join(folder, 'token'), 'secret\n');
    const authority = { 'certificate-authority-data': data('ca'), 'certificate-authority': '/nowhere' };
    const user = { 'client-certificate': 'client.pem', 'client-key': path.join(folder, 'client.pem') };
    const content = kubeconfig({
      cluster: { ...authority, 'tls-server-name': 'api' },
      user: { ...user, tokenFile: 'token' },
    });
    const file = path.join(folder, 'kubelet.conf');
    const options = await optionsOf(content, file);
    assert.equal(String(options.ca), 'ca');
    assert.equal(String(options.cert), 'first');
    assert.deepEqual(options.key, Buffer.from('first'));
    assert.equal(options.servername, 'api');
    assert.deepEqual(options.headers, { Authorization: 'Bearer secret' });
    await writeFile(path.join(folder, 'client.pem'), 'rotated');
    assert.equal(String((await optionsOf(content, file)).cert), 'rotated');
  });

  const others: [string, string][] = [
    ['an exec plugin', kubeconfig({ user: { exec: { command: 'x' } } })],
    ['a proxy', kubeconfig({ cluster: { 'proxy-url': 'http://127.0.0.1:1' } })],
    ['TLS without verification', kubeconfig({ cluster: { 'insecure-skip-tls-verify': true } })],
    ['plain HTTP', kubeconfig({ cluster: { server: 'http://127.0.0.1' } })],
    ['no current context', kubeconfig({ top: { 'current-context': 'elsewhere' } })],
    ['no YAML', '}{'],
  ];
  for (const [name, content] of others) {
    it(`a plain kubeconfig leaves ${name} to the client library`, () => {
      assert.equal(parsePlainKubeconfig(content, '/x'), undefined);
    });
  }
});

describe('a kubeconfig of any kind', () => {
  it('a kubeconfig of any kind is read by the client library where it is not plain', async (t) => {
    const folder = await temporaryFolder(t, 'kubeconfig');
    const file = path.join(folder, 'config');
    const skip = { 'insecure-skip-tls-verify': true };
    await writeFile(file, kubeconfig({ cluster: skip, user: { token: 'secret' } }));
    const access = await loadClusterAccess(file);
    assert.equal(access.server.href, 'https://127.0.0.1:6443/');
    const options: RequestOptions = {};
    await access.authenticate(options);
    assert.equal(options.rejectUnauthorized, false);
    assert.deepEqual(options.headers, { Authorization: 'Bearer secret' });
  });
});

describe('a kubeconfig whose program gives a token', () => {
  it('the token is kept until its time is over, or until the API server refuses it, and asked for once by many', async (t) => {
    const folder = await temporaryFolder(t, 'kubeconfig');
    const count = path.join(folder, 'count');
    const give = (expires: string): string =>
      `echo x >> ${count}; echo '{"status":{"token":"'$(wc -l < ${count})'","expirationTimestamp":"${expires}"}}'`;
    const accessOf = async (expires: string): Promise<ClusterAccess> => {
      await writeFile(count, '');
      const user = { exec: { ...EXEC, command: 'sh', args: ['-c', give(expires)] } };
      await writeFile(path.join(folder, 'config'), kubeconfig({ user }));
      return openClusterAccess(path.join(folder, 'config'));
    };
    const tokenOf = async (access: ClusterAccess): Promise<unknown> => {
      const options: RequestOptions = {};
      await access.authenticate(options);
      return options.headers;
    };
    const header = (number: number): object => ({ Authorization: `Bearer ${number}` });
    const kept = await accessOf('2999-01-01T00:00:00Z');
    assert.deepEqual(await Promise.all([tokenOf(kept), tokenOf(kept)]), [header(1), header(1)]);
    kept.refused?.();
    assert.deepEqual(await tokenOf(kept), header(1), 'as new as it is, another would be refused as well');
    t.mock.method(performance, 'now', () => 1e9);
    kept.refused?.();
    assert.deepEqual(await tokenOf(kept), header(2));
    const over = await accessOf('2001-01-01T00:00:00Z');
    assert.deepEqual([await tokenOf(over), await tokenOf(over)], [header(1), header(2)]);
  });
});

describe('a kubeconfig that cannot be used', () => {
  const garbage = data('x');
  const unusable: readonly [string, string, RegExp][] = [
    ['has no cluster', 'apiVersion: v1\nkind: Config\n', /has no current context|cannot read/],
    ['is no YAML', '}{', /cannot read the kubeconfig/],
    [
      'names a certificate that is away',
      kubeconfig({ user: { 'client-certificate': '/x' } }),
      /credentials of .*'\/x'/,
    ],
    ['has a certificate that is none', kubeconfig({ user: { 'client-certificate-data': garbage } }), /PEM/],
    [
      'has an authority that is none',
      kubeconfig({ cluster: { 'certificate-authority-data': garbage } }),
      /127\.0\.0\.1/,
    ],
    [
      'names a program that fails',
      kubeconfig({ user: { exec: { ...EXEC, command: 'false' } } }),
      /credentials of .*failed: false/,
    ],
    [
      'names a program that is away',
      kubeconfig({ user: { exec: { ...EXEC, command: '/x' } } }),
      /credentials of .*ENOENT/,
    ],
  ];
  for (const [what, content, why] of unusable) {
    it(`one that ${what} fails each request with the reason, until another content is there`, async (t) => {
      const file = path.join(await temporaryFolder(t, 'kubeconfig'), 'config');
      const access = openClusterAccess(file);
      assert.equal(await certifiedNodeName(access), undefined);
      const client = createKubeClient(access, 'test');
      const send = (): Promise<unknown> =>
        client.send({ method: 'GET', path: '/version' }, AbortSignal.timeout(60_000));
      await assert.rejects(send(), /cannot read the kubeconfig .*ENOENT/);
      await writeFile(file, content);
      await assert.rejects(send(), why);
      assert.match(client.problem?.() ?? '', why);
      await writeFile(file, kubeconfig({ cluster: { server: 'https://127.0.0.1:1' } }));
      await assert.rejects(send(), /ECONNREFUSED/);
      await rm(file);
      await assert.rejects(send(), /ECONNREFUSED/, 'what was read last stays in use');
      client.close();
    });
  }
});
