import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { providerSources } from '../../../src/cloud/providers.ts';
import {
  decideNotices,
  type Notice,
  type NoticeDecision,
  type NoticeOptions,
} from '../../../src/decide/notice/notices.ts';
import { ec2MetadataMockBinary } from '../../ec2-metadata-mock/binary.ts';
import { type Ec2MetadataMock, startEc2MetadataMock } from '../../ec2-metadata-mock/mock.ts';
import { waitFor } from '../../support/wait-for.ts';

const SIGNAL = AbortSignal.timeout(240_000);
const MINUTE = 60_000;
const OPTIONS: NoticeOptions = { rebalance: 'ignore', freeze: 'ignore', leadMs: 15 * MINUTE };
const EVENT_ID = 'instance-event-1234567890abcdef0';
const provider = 'aws';

const REBALANCE: Notice = { id: 'aws/rebalance', kind: 'rebalance', reason: 'EC2 rebalance recommendation', provider };
const TERMINATED: Notice = {
  id: 'aws/Terminated',
  kind: 'terminate',
  reason: 'EC2 Auto Scaling: target state Terminated',
  provider,
};

function spot(action: string): Notice {
  return { id: 'aws/spot', kind: 'preempt', reason: `EC2 spot interruption: ${action}`, provider };
}

function scheduled(code: string, notBefore: number): Notice {
  const reason = `EC2 scheduled event ${code}: The instance is scheduled for ${code}`;
  return { id: `aws/${EVENT_ID}`, kind: 'reboot', reason, provider, notBefore };
}

/** A whole second, as the mock's times are, so far from now. */
function secondsAhead(sec: number): number {
  return Math.floor(Date.now() / 1000 + sec) * 1000;
}

function iso(at: number): string {
  return new Date(at).toISOString().replace('.000Z', 'Z');
}

/** What the agent does about notices that it sees for the first time. */
function decide(notices: readonly Notice[], now: number): NoticeDecision {
  const seen = notices.map((notice) => ({ notice, seenAt: now, served: false }));
  return decideNotices(seen, OPTIONS, now);
}

describe('notices of the public amazon-ec2-metadata-mock', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-ec2-mock-'));
    await ec2MetadataMockBinary(SIGNAL);
  });
  after(async () => {
    await rm(folder, { recursive: true });
  });

  /** What reads all four places, until it is disposed of. */
  const reader = ({ url }: Ec2MetadataMock): Disposable & { read(): Promise<readonly Notice[]> } => {
    const { sources, close } = providerSources('aws', url);
    return {
      read: async () => (await Promise.all(sources.map((source) => source.read(SIGNAL)))).flat(),
      [Symbol.dispose]: close,
    };
  };
  const start = (args: readonly string[], more: { port?: number; env?: Record<string, string> } = {}) =>
    startEc2MetadataMock({ args, folder, ...more }, SIGNAL);

  it('the agent asks with a session token, without which the mock refuses', async () => {
    await using mock = await start(['spot']);
    const bare = await fetch(`${mock.url}/latest/meta-data/spot/instance-action`);
    await bare.text();
    assert.equal(bare.status, 401);
    using cloud = reader(mock);
    assert.deepEqual(
      (await cloud.read()).map(({ id }) => id),
      ['aws/spot', 'aws/rebalance'],
    );
  });

  for (const state of ['canceled', 'completed']) {
    it(`a scheduled event is gone when it is ${state}, also for a service that has forgotten the token`, async () => {
      const notBefore = secondsAhead(300);
      const args = ['events', '--not-before', iso(notBefore), '--state'];
      const first = await start([...args, 'active']);
      using cloud = reader(first);
      try {
        const notices = await cloud.read();
        assert.deepEqual(notices, [scheduled('system-reboot', notBefore)]);
        assert.equal(decide(notices, Date.now()).demand?.deadline, notBefore);
      } finally {
        await first.program.stop();
      }
      await using second = await start([...args, state], { port: first.port });
      assert.equal(second.url, first.url);
      const doubted = await cloud.read();
      assert.deepEqual(doubted, [scheduled('system-reboot', notBefore)], 'one answer is not enough');
      const after = await cloud.read();
      assert.deepEqual(after, []);
      assert.deepEqual(decide(after, Date.now()), { refused: [] });
    });
  }

  it('no notice is there before anything happens, and all four together have the earliest deadline', async () => {
    const [spotTime, eventTime] = [secondsAhead(120), secondsAhead(600)];
    const delays = ['--mock-delay-sec', '--rebalance-delay-sec', '--asg-termination-delay-sec'];
    await using mock = await start(
      delays.flatMap((flag) => [flag, '5']),
      { env: { AEMM_EVENTS_NOT_BEFORE: iso(eventTime), AEMM_SPOT_TIME: iso(spotTime) } },
    );
    using cloud = reader(mock);
    assert.deepEqual(await cloud.read(), []);

    let notices: readonly Notice[] = [];
    const hasAll = async (): Promise<boolean> => {
      notices = await cloud.read();
      return notices.length === 4;
    };
    await waitFor('all notices are there', hasAll, { timeoutMs: 15_000, signal: SIGNAL });
    const interruption = { ...spot('terminate'), notBefore: spotTime };
    const event = scheduled('system-reboot', eventTime);
    assert.deepEqual(notices, [interruption, REBALANCE, TERMINATED, event]);
    assert.deepEqual(decide(notices, Date.now()), {
      demand: { ids: [interruption.id, TERMINATED.id, event.id], reason: interruption.reason, deadline: spotTime },
      refused: [],
    });
  });
});
