import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createMaintenanceTransform, createSignificantChanges } from '../../../../src/agent/cluster/copy-trimming.ts';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import { drainOf } from '../../../support/maintenance/objects.ts';

const keep = createMaintenanceTransform('n1');

describe('the copy of a maintenance', () => {
  it('the copy keeps only the name of a maintenance of another node', () => {
    assert.deepEqual(keep(drainOf('m', ['n2'])), {
      metadata: { name: 'm' },
      spec: { nodeSelector: { nodeSelectorTerms: [] } },
    });
  });

  it("the copy of a maintenance of several nodes keeps this node's status alone", () => {
    const nodeStatuses = ['n1', 'n2'].map((name) => ({ nodeRef: { name } }));
    const kept = keep({ ...drainOf('m', ['n1', 'n2']), status: { nodeStatuses } });
    assert.deepEqual(kept.status?.nodeStatuses, [{ nodeRef: { name: 'n1' } }]);
  });
});

describe('the significant changes', () => {
  it('a change is significant where it concerns the node and is more than a new version', () => {
    let copy: NodeMaintenance | undefined;
    const { changed } = createSignificantChanges('n1', () => copy);
    const seen = (next: NodeMaintenance | undefined): boolean => {
      copy = next && keep(next);
      return changed('m');
    };
    const drain = drainOf('m', ['n1']);
    assert.equal(seen(drainOf('m', ['n2'])), false);
    assert.equal(seen(drain), true);
    assert.equal(seen({ ...drain, metadata: { ...drain.metadata, resourceVersion: '2' } }), false);
    assert.equal(seen({ ...drain, spec: { ...drain.spec, stage: 'Complete' } }), true);
    assert.equal(seen(undefined), true);
    assert.equal(seen(undefined), false);
  });
});
