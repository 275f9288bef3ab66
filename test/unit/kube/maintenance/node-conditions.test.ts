import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { syncConditions } from '../../../../src/kube/maintenance/node-conditions.ts';
import { createObjectServer } from '../../../support/stand-ins/object-server.ts';

const SIGNAL = new AbortController().signal;
const NODE = { metadata: { name: 'n1', resourceVersion: '7', annotations: { same: 'a', old: 'b' } } };
const DRAINING = { maintenances: ['m'], planned: [], draining: ['m'], drained: false };
const NOTHING = { maintenances: [], planned: [], draining: [], drained: false };

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

  it('syncConditions writes annotations that differ where the conditions are right, and nothing where those are too', async () => {
    const server = createObjectServer();
    const intent = { node: NODE, state: NOTHING, annotations: { note: 'text' } };
    assert.equal(await syncConditions(server.client, intent, 0, SIGNAL), true);
    assert.deepEqual(server.requests[0]?.body, { metadata: { resourceVersion: '7', annotations: { note: 'text' } } });
    const same = { node: NODE, state: NOTHING, annotations: { same: 'a' } };
    assert.equal(await syncConditions(server.client, same, 0, SIGNAL), false);
    assert.equal(server.asked.length, 1);
  });
});
