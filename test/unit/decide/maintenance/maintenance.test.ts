import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BOOT_ANNOTATION } from '../../../../src/api/names.ts';
import type { Node } from '../../../../src/api/pod.ts';
import { isEndedByReboot } from '../../../../src/decide/maintenance/maintenance.ts';
import { byName, ownMaintenanceOf } from '../../../support/maintenance/objects.ts';

const OWN = { annotations: { [BOOT_ANNOTATION]: 'first' } };

function node(bootID: string | undefined, name = 'node-a'): Node {
  return { metadata: { name }, status: bootID === undefined ? {} : { nodeInfo: { bootID } } };
}

describe('the end of a drain by a boot', () => {
  const cases = [
    ['in the same boot', { stage: 'Drain' }, OWN, node('first'), false],
    ['in the next boot', { stage: 'Drain' }, OWN, node('second'), true],
    ['while no kubelet has said its boot', { stage: 'Drain' }, OWN, node(''), false],
    ['where the Node has no status', { stage: 'Drain' }, OWN, node(undefined), false],
    ['for one without a boot', { stage: 'Drain' }, { ...OWN, annotations: {} }, node('second'), false],
    ['for one of a person', { stage: 'Drain' }, { ...OWN, labels: {} }, node('second'), false],
    ["for another node's", { stage: 'Drain' }, OWN, node('second', 'node-b'), false],
    ['for one of others', { stage: 'Drain', nodeSelector: byName('node-a', 'node-b') }, OWN, node('second'), false],
    ['for one that cordons', { stage: 'Cordon' }, OWN, node('second'), false],
    ['for one that is complete', { stage: 'Complete' }, OWN, node('second'), false],
    [
      'for one that is being deleted',
      { stage: 'Drain' },
      { ...OWN, deletionTimestamp: '2026-01-01T00:00:00Z' },
      node('second'),
      false,
    ],
  ] as const;
  for (const [when, spec, metadata, where, expected] of cases)
    it(`${expected ? 'a boot has ended a drain' : 'no boot has ended a drain'} ${when}`, () => {
      assert.equal(isEndedByReboot(ownMaintenanceOf('node-a', metadata, spec), where), expected);
    });
});
