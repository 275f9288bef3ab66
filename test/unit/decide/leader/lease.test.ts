import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Lease, LeaseSpec } from '../../../../src/api/lease.ts';
import { createTerm } from '../../../../src/kube/leader/term.ts';
import {
  controllerAlive,
  decideLease,
  type LeaseDecision,
  type LeaseObservation,
  observeLease,
  releasedLease,
} from '../../../../src/decide/leader/lease.ts';
import { createSystemClock, momentOf, monotonicNow } from '../../../../src/host/clock.ts';
import type { KubeClient, KubeRequest } from '../../../../src/kube/client.ts';

const ME = { identity: 'me_1', durationMs: 15_000 };
const AT = Date.parse('2026-05-01T12:00:00.123Z');
const HELD: LeaseSpec = {
  holderIdentity: 'other_1',
  leaseDurationSeconds: 15,
  acquireTime: '2026-05-01T11:00:00.000000Z',
  renewTime: '2026-05-01T11:59:59.000000Z',
  leaseTransitions: 4,
};

function leaseOf(spec: LeaseSpec, resourceVersion = '7'): Lease {
  return { metadata: { name: 'nodemaint-controller', resourceVersion }, spec };
}

/** What was seen of a Lease since the time 1000 of our monotonic clock. */
function sightOf(lease: Lease | undefined): LeaseObservation {
  return observeLease(undefined, lease, 1_000);
}

function holderOf(decision: LeaseDecision): string {
  return decision.kind === 'follow' ? decision.holder : (decision.spec.holderIdentity ?? '');
}

describe('the leader election', () => {
  it('the leader is the first candidate where there is no Lease', () => {
    assert.deepEqual(decideLease(sightOf(undefined), ME, 1_000, AT), {
      kind: 'lead',
      spec: {
        holderIdentity: 'me_1',
        leaseDurationSeconds: 15,
        acquireTime: '2026-05-01T12:00:00.123000Z',
        renewTime: '2026-05-01T12:00:00.123000Z',
        leaseTransitions: 0,
      },
    });
  });

  it('the leader is the first candidate where the Lease was given back', () => {
    const decision = decideLease(sightOf(leaseOf(releasedLease(HELD, AT))), ME, 1_000, AT);
    assert.equal(decision.kind === 'lead' && decision.spec.leaseTransitions, 5);
  });

  it('the leader stays the holder, whose time of acquisition stays too, also when its own Lease has expired', () => {
    const own = sightOf(leaseOf({ ...HELD, holderIdentity: 'me_1' }));
    for (const now of [1_000, 100_000]) {
      const decision = decideLease(own, ME, now, AT);
      assert.deepEqual(decision, {
        kind: 'lead',
        spec: { ...HELD, holderIdentity: 'me_1', renewTime: '2026-05-01T12:00:00.123000Z' },
      });
    }
  });

  it('the election goes by the duration that the holder wrote, not by our own', () => {
    const sight = sightOf(leaseOf({ ...HELD, leaseDurationSeconds: 60 }));
    assert.equal(holderOf(decideLease(sight, ME, 60_999, AT)), 'other_1');
    assert.equal(holderOf(decideLease(sight, ME, 61_000, AT)), 'me_1');
  });

  it('the election does not take a change of the metadata for a renewal', () => {
    const annotated = observeLease(sightOf(leaseOf(HELD)), leaseOf(HELD, '8'), 10_000);
    assert.equal(annotated.since, 1_000);
    assert.equal(annotated.lease?.metadata.resourceVersion, '8', 'the write that follows is not a conflict');
  });
});

describe('the liveness of a controller', () => {
  it('the liveness is not known after one read', () => {
    assert.equal(controllerAlive(undefined, 0), 'unknown');
    assert.equal(controllerAlive(sightOf(leaseOf(HELD)), 1_000), 'unknown');
    assert.equal(controllerAlive(sightOf(leaseOf(HELD)), 15_999), 'unknown');
  });

  it('the liveness is denied where there is no Lease, or none that changes within its duration', () => {
    assert.equal(controllerAlive(sightOf(undefined), 1_000), 'dead');
    assert.equal(controllerAlive(sightOf(leaseOf(HELD)), 16_000), 'dead');
  });

  it('the liveness is seen by a renewal, and counts for the duration of the Lease', () => {
    const renewed = observeLease(sightOf(leaseOf(HELD)), leaseOf({ ...HELD, renewTime: 'later' }), 3_000);
    assert.equal(controllerAlive(renewed, 3_000), 'alive');
    assert.equal(controllerAlive(renewed, 17_999), 'alive');
    assert.equal(controllerAlive(renewed, 18_000), 'dead');
  });

  it('the liveness is not denied during a hand-over, but when no controller takes the Lease for 15 s', () => {
    const released = observeLease(sightOf(leaseOf(HELD)), leaseOf(releasedLease(HELD, AT)), 3_000);
    assert.equal(controllerAlive(released, 5_000), 'unknown');
    assert.equal(controllerAlive(released, 18_000), 'dead');
  });
});

describe('the fence of a term', () => {
  const signal = new AbortController().signal;
  const setUp = () => {
    const system = createSystemClock();
    const clock = { ahead: 0 };
    const jumping = { now: () => system.now() + clock.ahead, monotonic: monotonicNow, sleep: system.sleep };
    const sent: KubeRequest[] = [];
    const client: KubeClient = {
      send: (request) => {
        sent.push(request);
        return Promise.resolve({ status: 200, headers: {}, body: {} });
      },
      watch: async function* () {},
      close: () => undefined,
    };
    const term = createTerm(momentOf(jumping), 10_000, jumping);
    return { clock, client, term, sent, fenced: term.fence(client) };
  };

  it('the fence lets writes pass for the deadline, and then reads alone', async () => {
    const { clock, term, sent, fenced } = setUp();
    await fenced.send({ method: 'PATCH', path: '/a' }, signal);
    // A machine that slept: only the wall clock tells.
    clock.ahead = 11_000;
    await assert.rejects(() => fenced.send({ method: 'PATCH', path: '/b' }, signal), { code: 'LEASE_LOST' });
    await fenced.send({ method: 'GET', path: '/c' }, signal);
    assert.deepEqual([sent.length, sent.at(-1)?.path], [2, '/c']);
    assert.ok(term.signal.aborted, 'the work of the term ends');
    clock.ahead = 0;
    await assert.rejects(() => fenced.send({ method: 'DELETE', path: '/d' }, signal), { code: 'LEASE_LOST' });
  });

  it('the fence is put off by a renewal, from the moment at which that began', async () => {
    const { clock, term, fenced } = setUp();
    const begun = { monotonic: monotonicNow() + 5_000, wall: Date.now() + 5_000 };
    term.renewed(begun);
    clock.ahead = 14_000;
    await fenced.send({ method: 'PATCH', path: '/a' }, signal);
    clock.ahead = 15_001;
    await assert.rejects(() => fenced.send({ method: 'PATCH', path: '/b' }, signal), { code: 'LEASE_LOST' });
  });

  it('the fence cuts short what is under way when the term is lost', async () => {
    const { client, term } = setUp();
    const send: KubeClient['send'] = (_, wait) =>
      new Promise((_resolve, reject) => wait.addEventListener('abort', () => reject(wait.reason as Error)));
    const sending = term.fence({ ...client, send }).send({ method: 'POST', path: '/a' }, signal);
    term.lose('another one has it');
    await assert.rejects(sending, { code: 'LEASE_LOST', message: /another one has it/ });
  });
});
