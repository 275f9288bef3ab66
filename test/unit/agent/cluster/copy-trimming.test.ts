import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createMaintenanceTransform } from '../../../../src/agent/cluster/copy-trimming.ts';
import { drainOf, ownMaintenanceOf } from '../../../support/maintenance/objects.ts';

const keep = createMaintenanceTransform('n1');

describe('the copy of a maintenance', () => {
  it('the copy keeps who is selected, and of other nodes the first that has come to its static pods', () => {
    const drain = drainOf('m', ['n2', 'n3']);
    const begun = { drainStartTime: '2026-01-01T00:00:00Z' };
    const n2 = { nodeRef: { name: 'n2' }, ...begun };
    const n3 = { nodeRef: { name: 'n3' }, ...begun, drainTargets: [{ podType: 'Static', podPriority: 0 } as const] };
    assert.deepEqual(keep(drain).spec, drain.spec);
    assert.deepEqual(keep({ ...drain, status: { nodeStatuses: [n2] } }).status, undefined);
    const machine = { ...ownMaintenanceOf('n2'), status: { nodeStatuses: [n2] } };
    assert.deepEqual(keep(machine).status?.nodeStatuses, [n2], 'others reboot');
    assert.deepEqual(keep({ ...drain, status: { nodeStatuses: [n2, n3] } }).status?.nodeStatuses, [n3]);
  });

  it("the copy of a maintenance of several nodes keeps this node's status alone", () => {
    const nodeStatuses = ['n1', 'n2'].map((name) => ({ nodeRef: { name } }));
    const kept = keep({ ...drainOf('m', ['n1', 'n2']), status: { nodeStatuses, summary: { nodes: '2' } } });
    assert.deepEqual(kept.status, { nodeStatuses: [{ nodeRef: { name: 'n1' } }], conditions: [] });
  });
});
