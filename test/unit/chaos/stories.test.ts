import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Node } from '../../../src/api/pod.ts';
import { checkStories } from '../../chaos/invariants/stories.ts';
import { drainOf } from '../../support/maintenance/objects.ts';

const NODE: Node = { metadata: { name: 'n' } };
const ENTRY = { uid: 'u', maintenance: 'm', state: 'drained', at: 1 } as const;

/** A drain of the node, and how far its condition says it is. */
function drain(status: 'True' | 'False'): NodeMaintenance {
  const made = drainOf('m', ['n']);
  const drained = { type: 'Drained', status, reason: 'Drained', message: '', lastTransitionTime: '' } as const;
  return { ...made, metadata: { ...made.metadata, uid: 'u' }, status: { conditions: [drained] } };
}

describe('the check of the stories that a cluster keeps', () => {
  it('a drain that is over has one story, and one that is under way may have none', () => {
    const whatOf = (maintenance: NodeMaintenance, kept: Parameters<typeof checkStories>[1]): readonly string[] =>
      checkStories({ maintenances: [maintenance], nodes: [NODE] }, kept).map(({ what }) => what);
    assert.deepEqual(whatOf(drain('True'), []), ['no story of a drain is kept']);
    assert.deepEqual(whatOf(drain('True'), [{ ...ENTRY, uid: 'another' }]), ['no story of a drain is kept']);
    assert.deepEqual(whatOf(drain('True'), [ENTRY, ENTRY]), ['a story is kept twice']);
    assert.deepEqual(whatOf(drain('True'), [ENTRY]), []);
    assert.deepEqual(whatOf(drain('False'), []), []);
    assert.deepEqual(checkStories({ maintenances: [drain('True')], nodes: [] }, []), []);
  });
});
