import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import path from 'node:path';
import process from 'node:process';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { createMetadata } from '../../../src/cloud/metadata.ts';
import { providerSources } from '../../../src/cloud/providers.ts';
import { PROVIDERS, type Provider } from '../../../src/decide/notice/provider.ts';
import {
  ec2Answers,
  type MetadataServer,
  type Recorded,
  startMetadataServer,
} from '../../support/stand-ins/metadata-server.ts';

const SIGNAL = AbortSignal.timeout(60_000);
const METADATA = path.join(import.meta.dirname, '..', '..', '..', 'src', 'cloud', 'metadata.ts');

/** Where each provider's first source looks, and what it has to be asked before. */
const PLACES: Readonly<Record<Provider, { readonly place: string; readonly before?: MetadataServer['answers'] }>> = {
  aws: { place: 'GET /latest/meta-data/spot/instance-action', before: ec2Answers({}) },
  gcp: { place: 'GET /computeMetadata/v1/instance/preempted' },
  azure: { place: 'GET /metadata/scheduledevents', before: { 'GET /metadata/instance/compute/name': { body: 'vm' } } },
  alibaba: {
    place: 'GET /latest/meta-data/instance/spot/termination-time',
    before: { 'PUT /latest/api/token': { body: 't' } },
  },
  tencent: { place: 'GET /latest/meta-data/spot/termination-time' },
};

const BAD: Readonly<Record<string, Recorded>> = {
  'a page': { body: '<!doctype html><html><body>Log in</body></html>', headers: { 'content-type': 'text/html' } },
  'a redirect': { status: 302, headers: { location: '/elsewhere' } },
  'an error of the server': { status: 503, body: 'try later' },
  'a huge answer': { body: `{"x":"${'a'.repeat(70_000)}"}` },
  'a list of numbers': { body: '[1,2,3]' },
  'wrong types': { body: '{"action":7,"time":[],"Events":"none"}' },
  'half of an answer': { body: '{"action":"terminate","time":"20' },
  'other words': { body: 'INTERNAL ERROR' },
};

describe('a bad answer of a metadata service', () => {
  for (const provider of PROVIDERS) {
    const { place, before = {} } = PLACES[provider];
    it(`a bad answer is a failure and never a notice of ${provider}`, async () => {
      await using server = await startMetadataServer();
      const { sources, close } = providerSources(provider, server.url);
      const [source] = sources;
      for (const [what, answer] of Object.entries(BAD)) {
        server.answers = { ...before, [place]: answer };
        await assert.rejects(async () => await source?.read(SIGNAL), { code: 'METADATA_FAILED' }, what);
      }
      close();
      const found = server.received.some((request) => request.path === '/elsewhere');
      assert.equal(found, false, 'no redirect is followed');
    });
  }

  it('a bad answer gives a notice of a time that cannot be read its own words, and no time', async () => {
    const body = JSON.stringify({ action: 'stop', time: 'in a while' });
    await using server = await startMetadataServer(ec2Answers({ 'spot/instance-action': body }));
    const { sources, close } = providerSources('aws', server.url);
    const [notice] = (await sources[0]?.read(SIGNAL)) ?? [];
    close();
    assert.equal(notice?.unreadableTime, 'in a while');
    assert.equal(notice.notBefore, undefined);
  });

  it('a bad answer is waited for no longer than its time, headers or not', async () => {
    await using server = await startMetadataServer({ 'GET /slow': () => new Promise<Recorded>(() => undefined) });
    const metadata = createMetadata(server.url, true);
    await assert.rejects(metadata.send({ path: '/slow', timeoutMs: 200 }, SIGNAL), /no answer within 0.2 s/);
    metadata.close();
  });
});

describe('the address of a metadata service', () => {
  it('the address of a metadata service is link-local unless a person configured another', async () => {
    for (const base of ['http://127.0.0.1', 'http://10.0.0.1', 'http://[::1]', 'https://169.254.169.254']) {
      assert.throws(() => createMetadata(base, false), { code: 'METADATA_FAILED' }, base);
    }
    for (const base of ['http://169.254.169.254', 'http://[fd00:ec2::254]', 'http://100.100.100.200']) {
      createMetadata(base, false).close();
    }
    // A name is believed only where it leads there.
    const metadata = createMetadata('http://localhost', false);
    await assert.rejects(metadata.send({ path: '/' }, SIGNAL), /no link-local address/);
    metadata.close();
  });

  it('the address of a metadata service is asked directly, whatever proxy the environment names', async () => {
    await using proxy = await startMetadataServer();
    await using server = await startMetadataServer({ 'GET /x': { body: 'direct' } });
    const code = `
      const { createMetadata } = await import(${JSON.stringify(METADATA)});
      const metadata = createMetadata(${JSON.stringify(server.url)}, true);
      console.log((await metadata.send({ path: '/x' }, AbortSignal.timeout(5000))).body);
      metadata.close();`;
    const env = { ...process.env, NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy.url, http_proxy: proxy.url, NO_PROXY: '' };
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code], { env });
    assert.equal(stdout.trim(), 'direct');
    assert.equal(proxy.received.length, 0);
  });
});
