import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import { loadClusterAccess } from '../../../../src/kube/access/cluster.ts';
import { parsePlainKubeconfig } from '../../../../src/kube/access/plain-kubeconfig.ts';

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

const data = (text: string): string => Buffer.from(text).toString('base64');

async function optionsOf(content: string, file: string): Promise<RequestOptions> {
  const options: RequestOptions = {};
  await parsePlainKubeconfig(content, file)?.authenticate(options);
  return options;
}

describe('a plain kubeconfig', () => {
  it('a plain kubeconfig gives certificates, keys and tokens, inline data before files', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-kubeconfig-'));
    try {
      await writeFile(path.join(folder, 'client.pem'), 'first');
      await writeFile(path.join(folder, 'token'), 'secret\n');
      const content = kubeconfig({
        cluster: {
          'certificate-authority-data': data('ca'),
          'certificate-authority': '/nowhere',
          'tls-server-name': 'api',
        },
        user: { 'client-certificate': 'client.pem', 'client-key': path.join(folder, 'client.pem'), tokenFile: 'token' },
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
    } finally {
      await rm(folder, { recursive: true });
    }
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
  it('a kubeconfig of any kind is read by the client library where it is not plain', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-kubeconfig-'));
    try {
      const file = path.join(folder, 'config');
      const skip = { 'insecure-skip-tls-verify': true };
      await writeFile(file, kubeconfig({ cluster: skip, user: { token: 'secret' } }));
      const { server, authenticate } = await loadClusterAccess(file);
      assert.equal(server.href, 'https://127.0.0.1:6443/');
      const options: RequestOptions = {};
      await authenticate(options);
      assert.equal(options.rejectUnauthorized, false);
      assert.deepEqual(options.headers, { Authorization: 'Bearer secret' });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
