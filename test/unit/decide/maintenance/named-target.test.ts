import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BOOT_ANNOTATION } from '../../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import { chooseForCompletion } from '../../../../src/decide/maintenance/named-target.ts';
import { ownMaintenanceOf } from '../../../support/maintenance/objects.ts';

const NODE = 'node-a';

const NAME = 'shutdown-node-a-1';

function ownOf(metadata: object = {}, spec: object = {}): NodeMaintenance {
  return ownMaintenanceOf(NODE, { name: NAME, uid: 'u-1', ...metadata }, spec);
}

describe('the completion by name', () => {
  const nodes = [{ metadata: { name: NODE }, status: { nodeInfo: { bootID: 'boot-1' } } }];
  const running = ownOf({ annotations: { [BOOT_ANNOTATION]: 'boot-1' } });

  it('the completion ends no shutdown that goes on, unless that is named itself', () => {
    const { chosen, failures } = chooseForCompletion([{ name: NODE }], [running], nodes, false);
    assert.deepEqual(chosen, []);
    assert.match(
      failures[0] ?? '',
      /belongs to the shutdown of node\/node-a, which is under way; .*nodemaint complete nm\/shutdown/,
    );
    const named = chooseForCompletion([{ kind: 'maintenance', name: NAME }], [running], nodes, false);
    assert.deepEqual(named.chosen, [running]);
  });

  it('the completion ends a shutdown that waits for a person after the boot', () => {
    const waiting = [ownOf(), ownOf({ annotations: { [BOOT_ANNOTATION]: 'boot-0' } })];
    for (const each of waiting) {
      assert.deepEqual(chooseForCompletion([{ name: NODE }], [each], nodes, false).chosen, [each]);
    }
  });
});
