import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest } from '../../../../src/api/eviction-request.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { createTargets } from '../../../../src/controller/cache/targets.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

const POD: Pod = { metadata: { name: 'web', namespace: 'default', uid: 'u' }, spec: {} };

function request(name: string, metadata: object = {}): EvictionRequest {
  return { metadata: { name: 'u', namespace: 'default', ...metadata }, spec: { target: { pod: { name, uid: 'u' } } } };
}

const HELD = { deletionTimestamp: '2026-01-01T00:00:00Z' };

describe('the target of a request', () => {
  it('the target of a held request that names another pod is the pod of its UID', () => {
    const pods = new Map([['default/web', POD]]);
    const cache = { get: (key: string) => pods.get(key), list: () => [...pods.values()] };
    const targetOf = createTargets(cache, createSteppingClock());
    assert.equal(targetOf(request('web')), POD);
    assert.equal(targetOf(request('nobody')), undefined, 'it is canceled, and the drain makes another one');
    assert.equal(targetOf(request('nobody', HELD)), POD);
    assert.equal(targetOf(request('nobody', { ...HELD, namespace: 'other' })), undefined);
  });

  it('the target of a held request costs one look at all pods in half a minute, however many there are', () => {
    const clock = createSteppingClock();
    let looks = 0;
    const list = (): readonly Pod[] => {
      looks += 1;
      return [];
    };
    const targetOf = createTargets({ get: () => undefined, list }, clock);
    for (let count = 0; count < 1_000; count += 1) targetOf(request('nobody', HELD));
    assert.equal(looks, 1);
    clock.pass(30_000);
    targetOf(request('nobody', HELD));
    assert.equal(looks, 2);
  });
});
