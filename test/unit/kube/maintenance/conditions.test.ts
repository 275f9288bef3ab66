import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { syncConditions } from '../../../../src/kube/maintenance/conditions.ts';
import { createObjectServer } from '../../../support/stand-ins/object-server.ts';

const SIGNAL = new AbortController().signal;
const NODE = { metadata: { name: 'n1', resourceVersion: '7', annotations: { same: 'a', old: 'b' } } };
const DRAINING = { maintenances: ['m'], draining: ['m'], drained: false };
const NOTHING = { maintenances: [], draining: [], drained: false };

interface WrittenNode {
  readonly metadata: object;
  readonly status: { readonly conditions: readonly object[] };
}

describe('syncConditions', () => {
  it('syncConditions writes the annotations that differ with the conditions, in one request', async () => {
    const server = createObjectServer();
    const annotations = { same: 'a', old: undefined, note: 'text' };
    assert.equal(await syncConditions(server.client, { node: NODE, state: DRAINING, annotations }, 0, SIGNAL), true);
    assert.deepEqual(server.asked, ['PATCH /api/v1/nodes/n1/status']);
    const written = server.requests[0]?.body as WrittenNode | undefined;
    assert.deepEqual(written?.metadata, { resourceVersion: '7', annotations: { old: null, note: 'text' } });
    assert.equal(written?.status.conditions.length, 2);
  });

  it('syncConditions leaves annotations alone where the conditions are right', async () => {
    const server = createObjectServer();
    const intent = { node: NODE, state: NOTHING, annotations: { note: 'text' } };
    assert.equal(await syncConditions(server.client, intent, 0, SIGNAL), false);
    assert.deepEqual(server.asked, []);
  });
});
