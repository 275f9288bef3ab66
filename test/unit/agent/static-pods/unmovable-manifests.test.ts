import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createStuckManifests } from '../../../../src/agent/static-pods/unmovable-manifests.ts';

describe('the manifests that cannot be moved', () => {
  it('a failure is news once for each reason, and lasting after five seconds', () => {
    let now = 1_000;
    const stuck = createStuckManifests(() => now);
    assert.equal(stuck.failed('a.yaml', 'no space'), true);
    now += 4_999;
    assert.equal(stuck.failed('a.yaml', 'no space'), false);
    assert.deepEqual(stuck.list().get('a.yaml'), { reason: 'no space', isLasting: false });
    now += 1;
    assert.equal(stuck.failed('a.yaml', 'read-only'), true);
    assert.deepEqual(stuck.list().get('a.yaml'), { reason: 'read-only', isLasting: true });
  });

  it('a manifest that was moved, or that is to stay, is forgotten', () => {
    const stuck = createStuckManifests(() => 0);
    for (const file of ['a.yaml', 'b.yaml', 'c.yaml']) stuck.failed(file, 'no space');
    stuck.moved('a.yaml');
    stuck.keep(new Set(['c.yaml']));
    assert.deepEqual([...stuck.list().keys()], ['c.yaml']);
  });
});
