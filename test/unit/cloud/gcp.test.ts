import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startCloud } from '../../support/stand-ins/cloud.ts';
import type { MetadataServer } from '../../support/stand-ins/metadata-server.ts';

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

  it('notices of GCP are none for a live migration', async () => {
    await using cloud = await startCloud('gcp', quiet('FALSE', 'MIGRATE_ON_HOST_MAINTENANCE'));
    assert.deepEqual(await cloud.read(), []);
  });
});
