import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startCloud } from '../../support/stand-ins/cloud.ts';

describe('notices of Alibaba Cloud and Tencent Cloud', () => {
  const PATH = 'GET /latest/meta-data/instance/spot/termination-time';
  const TOKEN = { 'PUT /latest/api/token': { body: 'token' } };

  it('notices of Alibaba Cloud and Tencent Cloud are the time of a spot release, each in its own zone', async () => {
    await using alibaba = await startCloud('alibaba', { ...TOKEN, [PATH]: { body: '2030-01-05T18:02:00Z' } });
    await using tencent = await startCloud('tencent', {
      'GET /latest/meta-data/spot/termination-time': { body: '2030-01-06 02:02:00' },
    });
    for (const cloud of [alibaba, tencent]) {
      const found = (await cloud.read()).map(({ kind, notBefore }) => [kind, notBefore]);
      assert.deepEqual(found, [['preempt', Date.UTC(2030, 0, 5, 18, 2)]]);
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
