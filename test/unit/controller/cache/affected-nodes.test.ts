import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import { createAffectedNodes } from '../../../../src/controller/cache/affected-nodes.ts';
import { drainOf } from '../../../support/maintenance/objects.ts';

const NODES = ['n1', 'n2'];

function maintenance(spec: object): NodeMaintenance {
  return drainOf('firmware', NODES, spec);
}

describe('the nodes that a change of a maintenance affects', () => {
  it('another reason affects all selected nodes, whose notes have it, and one that is the same in its noted part none', () => {
    const affected = createAffectedNodes();
    const long = 'x'.repeat(256);
    assert.deepEqual(affected('firmware', maintenance({ reason: 'firmware' }), NODES), NODES);
    assert.deepEqual(affected('firmware', maintenance({ reason: 'firmware' }), NODES), []);
    assert.deepEqual(affected('firmware', maintenance({ reason: 'kernel' }), NODES), NODES);
    assert.deepEqual(affected('firmware', maintenance({}), NODES), NODES);
    assert.deepEqual(affected('firmware', maintenance({ reason: long }), NODES), NODES);
    assert.deepEqual(affected('firmware', maintenance({ reason: `${long}more` }), NODES), []);
  });

  it('another stage affects the selected nodes, and the end of the maintenance those that it selected', () => {
    const affected = createAffectedNodes();
    affected('firmware', maintenance({ stage: 'Cordon' }), NODES);
    assert.deepEqual(affected('firmware', maintenance({ stage: 'Drain' }), NODES), NODES);
    assert.deepEqual(affected('firmware', undefined, []), NODES);
  });
});
