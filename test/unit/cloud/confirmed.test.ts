import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { confirmed } from '../../../src/cloud/confirmed.ts';
import type { Notice } from '../../../src/decide/notice/notices.ts';

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
