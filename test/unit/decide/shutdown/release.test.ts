import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import type { Node } from '../../../../src/api/pod.ts';
import { askedRelease, hasGoneDown, heldShutdowns, releaseText } from '../../../../src/decide/shutdown/release.ts';
import { ownMaintenanceOf } from '../../../support/maintenance/objects.ts';

const asked = (text: string, labels?: Record<string, string>): NodeMaintenance => {
  const annotations = { 'nodemaintenance.x-k8s.io/release': text };
  return ownMaintenanceOf('n', { annotations, ...(labels === undefined ? {} : { labels }) });
};

describe('what lets a machine go through the cluster', () => {
  it('the text of the annotation is read of the own maintenance alone, and bounded', () => {
    assert.equal(askedRelease(asked(releaseText('alice', 'now')), 'n'), 'alice: now');
    assert.equal(askedRelease(asked('x'.repeat(100_000)), 'n')?.length, 1_536);
    assert.equal(askedRelease(asked('  '), 'n'), undefined);
    assert.equal(askedRelease(asked('alice: now', {}), 'n'), undefined, 'no agent made it');
    assert.equal(askedRelease(asked('alice: now'), 'other'), undefined);
    assert.equal(askedRelease(undefined, 'n'), undefined);
  });

  it('a shutdown is held by a maintenance of the agent in the stage Drain', () => {
    const complete = ownMaintenanceOf('n', {}, { stage: 'Complete' });
    const [own, other, ofPerson] = [ownMaintenanceOf('n'), ownMaintenanceOf('m'), asked('', {})];
    assert.deepEqual(heldShutdowns([complete, other, ofPerson, own], 'n'), [own]);
  });

  it('a machine has gone down when its kubelet is silent, or was booted again, or its Node is gone', () => {
    const node = (ready: 'True' | 'Unknown', bootID = 'a'): Node => ({
      metadata: { name: 'n' },
      status: { conditions: [{ type: 'Ready', status: ready }], nodeInfo: { bootID } },
    });
    assert.equal(hasGoneDown(node('True'), node('True')), false);
    assert.equal(hasGoneDown(node('True'), node('Unknown')), true);
    assert.equal(hasGoneDown(node('Unknown'), node('Unknown')), false, 'it was silent before');
    assert.equal(hasGoneDown(node('Unknown'), node('Unknown', 'b')), true);
    assert.equal(hasGoneDown(node('True'), undefined), true);
  });
});
