import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { providerSources } from '../../../src/cloud/providers.ts';
import type { NoticeSource } from '../../../src/cloud/notice-source.ts';
import type { Notice } from '../../../src/decide/notice/notices.ts';
import type { Provider } from '../../../src/decide/notice/provider.ts';
import { type MetadataServer, startMetadataServer } from '../../support/stand-ins/metadata-server.ts';

const SIGNAL = AbortSignal.timeout(60_000);

interface Cloud extends AsyncDisposable {
  readonly server: MetadataServer;
  readonly sources: readonly NoticeSource[];
  /** What all sources have, or the message of the first that fails. */
  read(): Promise<readonly Notice[]>;
}

async function startCloud(
  provider: Provider,
  answers: MetadataServer['answers'],
  azureStartRequests = false,
): Promise<Cloud> {
  const server = await startMetadataServer(answers);
  const { sources, close } = providerSources(provider, { metadataUrl: server.url, azureStartRequests });
  return {
    server,
    sources,
    read: async () => (await Promise.all(sources.map((source) => source.read(SIGNAL)))).flat(),
    [Symbol.asyncDispose]: async () => {
      close();
      await server[Symbol.asyncDispose]();
    },
  };
}

describe('notices of Alibaba Cloud and Tencent Cloud', () => {
  const PATH = 'GET /latest/meta-data/instance/spot/termination-time';
  const TOKEN = { 'PUT /latest/api/token': { body: 'token' } };

  it('notices of Alibaba Cloud and Tencent Cloud are the time of a spot release, each in its own zone', async () => {
    await using alibaba = await startCloud('alibaba', { ...TOKEN, [PATH]: { body: '2030-01-05T18:02:00Z' } });
    await using tencent = await startCloud('tencent', {
      'GET /latest/meta-data/spot/termination-time': { body: '2030-01-06 02:02:00' },
    });
    for (const cloud of [alibaba, tencent]) {
      assert.deepEqual(
        (await cloud.read()).map(({ kind, notBefore }) => [kind, notBefore]),
        [['preempt', Date.UTC(2030, 0, 5, 18, 2)]],
      );
    }
    assert.equal(alibaba.server.received.at(-1)?.headers['x-aliyun-ecs-metadata-token'], 'token');
  });

  it('notices of Alibaba Cloud and Tencent Cloud are none for 404 and for an empty answer', async () => {
    await using missing = await startCloud('alibaba', TOKEN);
    await using empty = await startCloud('alibaba', { ...TOKEN, [PATH]: { body: '' } });
    await using tencent = await startCloud('tencent', {});
    for (const cloud of [missing, empty, tencent]) assert.deepEqual(await cloud.read(), []);
  });
});
