import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CreatedMaintenances } from '../../../../src/agent/cluster/created-uids.ts';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import type { OwnState } from '../../../../src/decide/maintenance/agent-names.ts';
import { ownMaintenanceOf } from '../../../support/maintenance/objects.ts';

const NAME = 'shutdown-n-1';
const MADE = ownMaintenanceOf('n', { name: NAME, uid: 'u-1' });
const OTHER = ownMaintenanceOf('n', { name: NAME, uid: 'u-2' });
const COMPLETE: NodeMaintenance = { ...MADE, spec: { ...MADE.spec, stage: 'Complete' } };

function deleting(maintenance: NodeMaintenance): NodeMaintenance {
  return { ...maintenance, metadata: { ...maintenance.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
}

/** What the watch shows one after the other, and the state after it; undefined for an object that is gone. */
const histories: [string, readonly (NodeMaintenance | undefined)[], OwnState][] = [
  ['is there', [MADE], 'open'],
  ['was not shown yet', [], 'open'],
  ['was deleted', [MADE, undefined], 'deleted'],
  ['is being deleted', [MADE, deleting(MADE)], 'deleted'],
  ['is being deleted, and completed by the controller for that', [MADE, deleting(MADE), deleting(COMPLETE)], 'deleted'],
  ['was deleted, and its name taken by another one', [MADE, OTHER], 'deleted'],
  ['was completed', [MADE, COMPLETE], 'completed'],
  ['was completed, and deleted after that', [MADE, COMPLETE, deleting(COMPLETE), undefined], 'completed'],
];

describe('the NodeMaintenance that the agent made', () => {
  for (const [what, shown, expected] of histories) {
    it(`the maintenance that ${what} is ${expected}`, () => {
      let copy: NodeMaintenance | undefined;
      const made = new CreatedMaintenances('n', () => copy);
      made.accept(MADE);
      for (const next of shown) {
        copy = next;
        made.changed(NAME);
      }
      assert.equal(made.state(NAME), expected);
    });
  }

  it('the maintenance that was completed while no agent ran is not known as its own: the name is taken', () => {
    const made = new CreatedMaintenances('n', () => COMPLETE);
    made.changed(NAME);
    assert.equal(made.state(NAME), 'taken');
  });
});
