import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { providerSources } from '../../../src/cloud/providers.ts';
import type { NoticeSource } from '../../../src/cloud/notice-source.ts';
import type { Notice } from '../../../src/decide/notice/notices.ts';
import type { Provider } from '../../../src/decide/notice/provider.ts';
import { ec2Answers, type MetadataServer, startMetadataServer } from '../../support/stand-ins/metadata-server.ts';

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

describe('notices of AWS', () => {
  const spot = { action: 'terminate', time: '2030-04-24T17:11:44Z' };
  const event = {
    Code: 'system-reboot',
    Description: 'scheduled reboot',
    EventId: 'instance-event-0d59937288b749b32',
    State: 'active',
    NotBefore: '21 Jan 2030 09:00:43 GMT',
    NotAfter: '21 Jan 2030 09:17:23 GMT',
  };

  it('notices of AWS are read from all four places, with a session token', async () => {
    await using cloud = await startCloud(
      'aws',
      ec2Answers({
        'spot/instance-action': JSON.stringify(spot),
        'events/recommendations/rebalance': '{"noticeTime":"2030-10-27T08:22:00Z"}',
        'events/maintenance/scheduled': JSON.stringify([event, { ...event, EventId: 'x', State: 'canceled' }]),
        'autoscaling/target-lifecycle-state': 'Terminated',
      }),
    );
    const provider = 'aws';
    assert.deepEqual(await cloud.read(), [
      {
        id: 'aws/spot',
        kind: 'preempt',
        reason: 'EC2 spot interruption: terminate',
        provider,
        notBefore: Date.UTC(2030, 3, 24, 17, 11, 44),
      },
      { id: 'aws/rebalance', kind: 'rebalance', reason: 'EC2 rebalance recommendation', provider },
      { id: 'aws/Terminated', kind: 'terminate', reason: 'EC2 Auto Scaling: target state Terminated', provider },
      {
        id: 'aws/instance-event-0d59937288b749b32',
        kind: 'reboot',
        reason: 'EC2 scheduled event system-reboot: scheduled reboot',
        provider,
        notBefore: Date.UTC(2030, 0, 21, 9, 0, 43),
      },
    ]);
    const puts = cloud.server.received.filter(({ method }) => method === 'PUT');
    assert.equal(puts.length, 1, 'one token for all');
  });

  it('notices of AWS are none on a machine to which nothing happens', async () => {
    await using cloud = await startCloud(
      'aws',
      ec2Answers({ 'events/maintenance/scheduled': '[]', 'autoscaling/target-lifecycle-state': 'InService' }),
    );
    assert.deepEqual(await cloud.read(), []);
  });

  it('notices of AWS are read with a new token when the old one is over', async () => {
    await using cloud = await startCloud('aws', ec2Answers({}, 'first'));
    assert.deepEqual(await cloud.read(), []);
    cloud.server.answers = ec2Answers({ 'spot/instance-action': JSON.stringify(spot) }, 'second');
    assert.equal((await cloud.read()).length, 1);
  });

  it('a hibernation of AWS begins at once, whatever the time says', async () => {
    const body = JSON.stringify({ ...spot, action: 'hibernate' });
    await using cloud = await startCloud('aws', ec2Answers({ 'spot/instance-action': body }));
    assert.equal((await cloud.read())[0]?.notBefore, undefined);
  });
});

describe('notices of GCP', () => {
  const ROOT = '/computeMetadata/v1/instance';
  const quiet = (preempted: string, event: string): MetadataServer['answers'] => ({
    [`GET ${ROOT}/preempted`]: { body: preempted, headers: { etag: 'p1' } },
    [`GET ${ROOT}/maintenance-event`]: { body: event, headers: { etag: 'm1' } },
  });

  it('notices of GCP are none on a machine to which nothing happens, and the next request waits for a change', async () => {
    await using cloud = await startCloud('gcp', quiet('FALSE', 'NONE'));
    assert.deepEqual(await cloud.read(), []);
    assert.deepEqual(await cloud.read(), []);
    const held = cloud.server.received.filter(({ query }) => query.get('wait_for_change') === 'true');
    const asked = held.map(({ query }) => `${query.get('last_etag')} ${query.get('timeout_sec')}`);
    assert.deepEqual(new Set(asked), new Set(['p1 300', 'm1 300']));
    assert.ok(cloud.server.received.every(({ headers }) => headers['metadata-flavor'] === 'Google'));
  });

  it('notices of GCP are preemption, maintenance, a graceful stop and what is planned', async () => {
    await using cloud = await startCloud('gcp', {
      ...quiet('TRUE', 'TERMINATE_ON_HOST_MAINTENANCE'),
      [`GET ${ROOT}/shutdown-details/`]: {
        body: '{"stopState":"PENDING_STOP","requestTimestamp":"2030-01-01T00:00:00Z","maxDuration":"600s"}',
      },
      [`GET ${ROOT}/upcoming-maintenance/`]: {
        body: '{"windowStartTime":"2030-02-01T00:00:00Z","type":"SCHEDULED","maintenanceStatus":"PENDING"}',
      },
    });
    const brief = (await cloud.read()).map(({ kind, leastMs, notBefore }) => [kind, leastMs, notBefore]);
    assert.deepEqual(brief, [
      ['preempt', 30_000, undefined],
      ['terminate', 60_000, undefined],
      ['terminate', undefined, Date.UTC(2030, 0, 1, 0, 10)],
      ['reboot', undefined, Date.UTC(2030, 1, 1)],
    ]);
  });

  it('notices of GCP are a freeze for a live migration', async () => {
    await using cloud = await startCloud('gcp', quiet('FALSE', 'MIGRATE_ON_HOST_MAINTENANCE'));
    assert.deepEqual(
      (await cloud.read()).map(({ kind }) => kind),
      ['freeze'],
    );
  });
});

describe('notices of Azure', () => {
  const EVENTS = '/metadata/scheduledevents';
  const NAME = { 'GET /metadata/instance/compute/name': { body: 'aks-pool_0' } };
  const eventOf = (over: object): object => ({
    EventId: 'A1',
    EventType: 'Preempt',
    ResourceType: 'VirtualMachine',
    Resources: ['AKS-pool_0'],
    EventStatus: 'Scheduled',
    NotBefore: 'Mon, 19 Sep 2030 18:29:47 GMT',
    Description: '',
    ...over,
  });
  const answersOf = (...events: readonly object[]): MetadataServer['answers'] => ({
    ...NAME,
    [`GET ${EVENTS}`]: { body: JSON.stringify({ DocumentIncarnation: 1, Events: events }) },
    [`POST ${EVENTS}`]: { body: '' },
  });

  it('notices of Azure are those of this machine alone', async () => {
    await using cloud = await startCloud(
      'azure',
      answersOf(
        eventOf({}),
        eventOf({ EventId: 'A2', Resources: ['aks-pool_1'] }),
        eventOf({ EventId: 'A3', Resources: ['aks-pool_00'] }),
        eventOf({ EventId: 'A4', EventType: 'Reboot', EventStatus: 'Started', NotBefore: '', Description: 'Host' }),
      ),
    );
    const provider = 'azure';
    assert.deepEqual(await cloud.read(), [
      {
        id: 'azure/A1',
        kind: 'preempt',
        reason: 'Azure Preempt',
        provider,
        notBefore: Date.UTC(2030, 8, 19, 18, 29, 47),
      },
      { id: 'azure/A4', kind: 'reboot', reason: 'Azure Reboot: Host', provider },
    ]);
    assert.ok(cloud.server.received.every(({ headers }) => headers['metadata'] === 'true'));
  });

  it('notices of Azure are none where the body is empty, as at the first question', async () => {
    await using cloud = await startCloud('azure', { ...NAME, [`GET ${EVENTS}`]: { body: '' } });
    assert.deepEqual(await cloud.read(), []);
  });

  it('notices of Azure are started early by option only, and never for other machines too', async () => {
    const events = [eventOf({}), eventOf({ EventId: 'A2', Resources: ['aks-pool_0', 'aks-pool_1'] })];
    for (const allowed of [false, true]) {
      await using cloud = await startCloud('azure', answersOf(...events), allowed);
      await cloud.read();
      await cloud.sources[0]?.acknowledge?.('azure/A1', SIGNAL);
      await cloud.sources[0]?.acknowledge?.('azure/A2', SIGNAL);
      const posted = cloud.server.received.filter(({ method }) => method === 'POST').map(({ body }) => body);
      assert.deepEqual(posted, allowed ? ['{"StartRequests":[{"EventId":"A1"}]}'] : []);
    }
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
