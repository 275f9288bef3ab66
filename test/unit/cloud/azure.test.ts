import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startCloud } from '../../support/stand-ins/cloud.ts';
import type { MetadataServer } from '../../support/stand-ins/metadata-server.ts';

describe('notices of Azure', () => {
  const EVENTS = '/metadata/scheduledevents';
  const NAME = { 'GET /metadata/instance/compute/name': { body: 'aks-pool_0' } };
  const eventOf = (over: object): object => ({
    EventId: 'A1',
    EventType: 'Preempt',
    ResourceType: 'VirtualMachine',
    Resources: ['AKS-pool_0'],
    NotBefore: 'Mon, 19 Sep 2030 18:29:47 GMT',
    Description: '',
    ...over,
  });
  const answersOf = (...events: readonly object[]): MetadataServer['answers'] => ({
    ...NAME,
    [`GET ${EVENTS}`]: { body: JSON.stringify({ DocumentIncarnation: 1, Events: events }) },
  });

  it('notices of Azure are those of this machine alone, beside events of an odd form', async () => {
    await using cloud = await startCloud(
      'azure',
      answersOf(
        eventOf({}),
        eventOf({ EventId: 'A2', Resources: ['aks-pool_1'] }),
        eventOf({ EventId: 'A3', Resources: ['aks-pool_00'] }),
        eventOf({ EventId: 'A5', Resources: undefined }),
        eventOf({ EventId: '' }),
        eventOf({ EventId: 'A4', EventType: 'Reboot', NotBefore: '', Description: 'Host' }),
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
});
