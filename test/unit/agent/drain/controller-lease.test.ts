import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ControllerLease } from '../../../../src/agent/drain/controller-lease.ts';
import { DEFAULT_EVICTION_SETTINGS, settingsAnnotations } from '../../../../src/decide/eviction/settings.ts';
import { createSystemClock } from '../../../../src/host/clock.ts';
import { SILENT_LOG } from '../../../support/silent-log.ts';
import { createObjectServer, type ObjectServer } from '../../../support/stand-ins/object-server.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

const SIGNAL = new AbortController().signal;
const LEASE = '/apis/coordination.k8s.io/v1/namespaces/nodemaint-system/leases/nodemaint-controller';

function leaseOf(renewTime: string): object {
  return { metadata: { name: 'nodemaint-controller' }, spec: { holderIdentity: 'c1', renewTime } };
}

function livenessOf({ client }: ObjectServer, clock = createSystemClock()): ControllerLease {
  return new ControllerLease({ client, clock, log: SILENT_LOG });
}

describe('the liveness of the controller', () => {
  it('the liveness of the controller is dead where there is no Lease, for no controller was ever started', async () => {
    const liveness = livenessOf(createObjectServer());
    assert.equal((await liveness.observe(0, SIGNAL)).kind, 'dead');
  });

  it('the liveness of the controller is unknown after one reading, and alive when the Lease has changed', async () => {
    const server = createObjectServer({ [LEASE]: leaseOf('1') });
    const liveness = livenessOf(server);
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
    const liveness = livenessOf(server);
    assert.deepEqual(liveness.settings(), DEFAULT_EVICTION_SETTINGS);
    await liveness.observe(0, SIGNAL);
    server.refused.set(`GET ${LEASE}`, 500);
    await liveness.observe(0, SIGNAL);
    assert.deepEqual(liveness.settings(), settings);
  });

  it('the liveness of the controller is not read again within the time asked for', async () => {
    const server = createObjectServer({ [LEASE]: leaseOf('1') });
    const liveness = livenessOf(server);
    await liveness.observe(60_000, SIGNAL);
    await liveness.observe(60_000, SIGNAL);
    assert.equal(server.asked.length, 1);
  });

  it('the liveness of the controller is unknown while the API server does not tell, and why it does not is known', async () => {
    const server = createObjectServer();
    const liveness = livenessOf(server);
    await liveness.observe(0, SIGNAL);
    assert.equal(liveness.untold(), undefined);
    server.refused.set(`GET ${LEASE}`, 500);
    assert.equal((await liveness.observe(0, SIGNAL)).kind, 'unknown');
    assert.match(liveness.untold() ?? '', /500/);
    liveness.forget();
    assert.deepEqual([liveness.untold(), liveness.last()], [undefined, undefined]);
    const away = { ...server, client: { ...server.client, send: () => Promise.reject(new Error('away')) } };
    const silent = livenessOf(away);
    await silent.observe(0, SIGNAL);
    assert.equal(silent.untold(), '');
  });

  it('a time in which the Lease was not read is no sign of death for a drain, and counts for the choice of a watch', async () => {
    const server = createObjectServer({ [LEASE]: leaseOf('1') });
    const clock = createSteppingClock();
    const liveness = livenessOf(server, clock);
    const lifeOf = async (): Promise<string> => {
      const reading = await liveness.look(0, SIGNAL);
      return reading.kind === 'read' ? reading.life : reading.kind;
    };
    assert.equal(await lifeOf(), 'unknown');
    assert.equal(liveness.last(), undefined, 'only a drain is told of it');
    clock.pass(30_000);
    assert.equal(await lifeOf(), 'dead');
    assert.equal((await liveness.observe(2_000, SIGNAL)).kind, 'unknown');
    for (const [afterMs, kind] of [
      [8_000, 'unknown'],
      [8_000, 'dead'],
    ] as const) {
      clock.pass(afterMs);
      assert.equal((await liveness.observe(0, SIGNAL)).kind, kind);
    }
  });

  it('a look at the Lease and the observation for a drain share what was read, until it is forgotten', async () => {
    const server = createObjectServer({ [LEASE]: leaseOf('1') });
    const clock = createSteppingClock();
    const liveness = livenessOf(server, clock);
    await liveness.observe(2_000, SIGNAL);
    await liveness.look(2_000, SIGNAL);
    assert.equal(server.asked.length, 1);
    server.objects.set(LEASE, leaseOf('2'));
    clock.pass(2_000);
    assert.deepEqual(await liveness.look(2_000, SIGNAL), { kind: 'read', writesNotes: false, life: 'alive' });
    assert.equal((await liveness.observe(2_000, SIGNAL)).kind, 'alive');
    assert.equal(server.asked.length, 2);
    liveness.forget();
    assert.equal((await liveness.observe(2_000, SIGNAL)).kind, 'unknown', 'the observation begins anew');
    assert.equal((await liveness.look(2_000, SIGNAL)).kind, 'read');
    assert.equal(server.asked.length, 3);
  });

  it('a look at the Lease tells a refusal from an API server that does not answer', async () => {
    const server = createObjectServer();
    const liveness = livenessOf(server);
    server.refused.set(`GET ${LEASE}`, 403);
    assert.deepEqual(await liveness.look(0, SIGNAL), { kind: 'refused' });
    const away = { ...server, client: { ...server.client, send: () => Promise.reject(new Error('away')) } };
    assert.deepEqual(await livenessOf(away).look(0, SIGNAL), { kind: 'unanswered' });
    await assert.rejects(livenessOf(away).look(0, AbortSignal.abort(new Error('the agent ends'))), /the agent ends/);
  });
});
