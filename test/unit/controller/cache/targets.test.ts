import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest } from '../../../../src/api/eviction-request.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { heldTargetOf } from '../../../../src/controller/cache/targets.ts';
import { indexesOf } from '../../../support/maintenance/indexes.ts';

const POD: Pod = { metadata: { name: 'web', namespace: 'default', uid: 'u' }, spec: {} };

function request(name: string, metadata: object = {}): EvictionRequest {
  return { metadata: { name: 'u', namespace: 'default', ...metadata }, spec: { target: { pod: { name, uid: 'u' } } } };
}

const HELD = { deletionTimestamp: '2026-01-01T00:00:00Z' };

describe('the target of a request', () => {
  it('the target of a held request that names another pod is the pod of its UID', () => {
    const { pods } = indexesOf({ pods: [POD] });
    const targetOf = (of: EvictionRequest): Pod | undefined => heldTargetOf(pods, of);
    assert.equal(targetOf(request('web')), POD);
    assert.equal(targetOf(request('nobody')), undefined, 'it is canceled, and the drain makes another one');
    assert.equal(targetOf(request('nobody', HELD)), POD);
    assert.equal(targetOf(request('nobody', { ...HELD, namespace: 'other' })), undefined);
  });
});
