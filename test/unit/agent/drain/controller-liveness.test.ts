import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createControllerLiveness } from '../../../../src/agent/drain/controller-liveness.ts';
import { DEFAULT_EVICTION_SETTINGS, settingsAnnotations } from '../../../../src/decide/eviction/settings.ts';
import { SILENT_LOG } from '../../../support/silent-log.ts';
import { createObjectServer } from '../../../support/stand-ins/object-server.ts';

const SIGNAL = new AbortController().signal;
const LEASE = '/apis/coordination.k8s.io/v1/namespaces/nodemaint-system/leases/nodemaint-controller';

function leaseOf(renewTime: string): object {
  return { metadata: { name: 'nodemaint-controller' }, spec: { holderIdentity: 'c1', renewTime } };
}

describe('the liveness of the controller', () => {
  it('the liveness of the controller is dead where there is no Lease, for no controller was ever started', async () => {
    const liveness = createControllerLiveness(createObjectServer().client, SILENT_LOG);
    assert.equal((await liveness.observe(0, SIGNAL)).kind, 'dead');
  });

  it('the liveness of the controller is unknown after one reading, and alive when the Lease has changed', async () => {
    const server = createObjectServer({ [LEASE]: leaseOf('1') });
    const liveness = createControllerLiveness(server.client, SILENT_LOG);
    assert.equal((await liveness.observe(0, SIGNAL)).kind, 'unknown');
    server.objects.set(LEASE, leaseOf('2'));
    assert.equal((await liveness.observe(0, SIGNAL)).kind, 'alive');
    assert.equal(liveness.last()?.kind, 'alive');
  });

  it('the options of the controller are those that its Lease had when it was read last', async () => {
    const { metadata, ...lease } = { metadata: { name: 'nodemaint-controller' }, spec: { holderIdentity: 'c1' } };
    const settings = { takeOverMs: 1_000, promiseMs: 2_000, promiseWords: ['Migration started'] };
    const annotations = settingsAnnotations(settings);
    const server = createObjectServer({ [LEASE]: { ...lease, metadata: { ...metadata, annotations } } });
    const liveness = createControllerLiveness(server.client, SILENT_LOG);
    assert.deepEqual(liveness.settings(), DEFAULT_EVICTION_SETTINGS);
    await liveness.observe(0, SIGNAL);
    server.refused.set(`GET ${LEASE}`, 500);
    await liveness.observe(0, SIGNAL);
    assert.deepEqual(liveness.settings(), settings);
  });

  it('the liveness of the controller is not read again within the time asked for', async () => {
    const server = createObjectServer({ [LEASE]: leaseOf('1') });
    const liveness = createControllerLiveness(server.client, SILENT_LOG);
    await liveness.observe(60_000, SIGNAL);
    await liveness.observe(60_000, SIGNAL);
    assert.equal(server.asked.length, 1);
  });

  it('the liveness of the controller is unknown while the API server refuses to tell, whose silence is counted', async () => {
    const server = createObjectServer();
    const liveness = createControllerLiveness(server.client, SILENT_LOG);
    await liveness.observe(0, SIGNAL);
    server.refused.set(`GET ${LEASE}`, 500);
    assert.equal((await liveness.observe(0, SIGNAL)).kind, 'unknown');
    await new Promise((resolve) => setTimeout(resolve, 5));
    assert.ok(liveness.apiSilentMs() > 0);
    liveness.forget();
    assert.equal(liveness.apiSilentMs(), 0);
    assert.equal(liveness.last(), undefined);
  });
});
