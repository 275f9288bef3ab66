import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { confirmed } from '../../../src/cloud/providers.ts';
import type { Notice } from '../../../src/decide/notice/notices.ts';
import { startCloud } from '../../support/stand-ins/cloud.ts';

const SIGNAL = new AbortController().signal;
const SPOT: Notice = { id: 'aws/spot', kind: 'preempt', reason: 'spot', provider: 'aws' };
const EVENT: Notice = { id: 'aws/event', kind: 'reboot', reason: 'event', provider: 'aws' };

/** The identities of the notices after each answer; an error is an answer that did not come. */
async function told(answers: readonly (readonly Notice[] | Error)[]): Promise<readonly string[]> {
  const queue = [...answers];
  const read = (): Promise<readonly Notice[]> => {
    const next = queue.shift() ?? [];
    return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
  };
  const source = confirmed({ name: 's', everyMs: 1, read });
  const seen: string[] = [];
  for (const _ of answers) {
    const notices = await source.read(SIGNAL).catch(() => undefined);
    seen.push(notices?.map(({ id }) => id).join(' ') ?? 'error');
  }
  return seen;
}

describe('the notices of a metadata service', () => {
  it('a notice is there at once, and gone when two answers in a row lack it', async () => {
    assert.deepEqual(await told([[], [SPOT], [], [], []]), ['', 'aws/spot', 'aws/spot', '', '']);
  });

  it('a single answer without it takes no notice back', async () => {
    assert.deepEqual(await told([[SPOT], [], [SPOT], [], [SPOT]]), Array<string>(5).fill('aws/spot'));
  });

  it('an answer that did not come confirms nothing', async () => {
    const answers = [[SPOT], [], new Error('no answer'), []];
    assert.deepEqual(await told(answers), ['aws/spot', 'aws/spot', 'error', '']);
  });

  it('each notice is confirmed by itself', async () => {
    const answers = [[SPOT, EVENT], [SPOT], [], []];
    assert.deepEqual(await told(answers), ['aws/spot aws/event', 'aws/spot aws/event', 'aws/spot', '']);
  });
});

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
