import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startCloud } from '../../support/stand-ins/cloud.ts';
import { ec2Answers } from '../../support/stand-ins/metadata-server.ts';

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

  it('notices of AWS are read from all three places, with a session token', async () => {
    await using cloud = await startCloud(
      'aws',
      ec2Answers({
        'spot/instance-action': JSON.stringify(spot),
        'events/maintenance/scheduled': JSON.stringify([
          null,
          event,
          { ...event, EventId: 'x', State: 'canceled' },
          { ...event, EventId: undefined },
          { EventId: 'y', State: 'active', Code: 'new', Description: 'x'.repeat(2000) },
        ]),
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
      { id: 'aws/Terminated', kind: 'terminate', reason: 'EC2 Auto Scaling: target state Terminated', provider },
      {
        id: 'aws/instance-event-0d59937288b749b32',
        kind: 'reboot',
        reason: 'EC2 scheduled event system-reboot: scheduled reboot',
        provider,
        notBefore: Date.UTC(2030, 0, 21, 9, 0, 43),
      },
      { id: 'aws/y', kind: 'reboot', reason: 'EC2 scheduled event new', provider, unreadableTime: '' },
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
