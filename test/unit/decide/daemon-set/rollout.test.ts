import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type DaemonSet, REVISION_HASH_LABEL } from '../../../../src/api/daemon-set.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { currentHash, decideRollout } from '../../../../src/decide/daemon-set/rollout.ts';
import { NOW, OWNER, podFor } from '../../../support/daemon-set-pods.ts';

const old = (node: string): Pod => podFor(node, { bound: true, hash: 'old', readySec: 60 });

const fresh = (node: string, readySec?: number): Pod =>
  podFor(node, { bound: true, hash: 'new', ...(readySec === undefined ? {} : { readySec }) });

const held = (node: string): Pod => podFor(node, { held: true, hash: 'new' });

function daemonSetOf(desired: number, rollingUpdate: object = {}, spec: object = {}): DaemonSet {
  return {
    metadata: { name: 'logger', namespace: 'default', uid: 'ds', generation: 2 },
    spec: { selector: {}, updateStrategy: { type: 'RollingUpdate', rollingUpdate }, ...spec },
    status: { observedGeneration: 2, desiredNumberScheduled: desired },
  };
}

/** The nodes whose pods the rollout would replace now. */
function replaced(daemonSet: DaemonSet, pods: readonly Pod[]): readonly string[] {
  return decideRollout({ daemonSet, hash: 'new', pods }, NOW).replace.map(({ spec }) => spec.nodeName ?? '');
}

describe('the rolling update of a DaemonSet with gated pods', () => {
  it('the rolling update goes on elsewhere, one pod at a time, where maxUnavailable is 1', () => {
    assert.deepEqual(replaced(daemonSetOf(3), [held('a'), old('b'), old('c')]), ['b']);
    const terminating = podFor('b', { bound: true, deleted: true });
    assert.deepEqual(replaced(daemonSetOf(3), [held('a'), terminating, old('c')]), [], 'one is going');
    assert.deepEqual(replaced(daemonSetOf(3), [held('a'), fresh('b'), old('c')]), [], 'one is not ready');
    assert.deepEqual(replaced(daemonSetOf(3), [held('a'), old('c')]), [], 'one is missing');
    assert.deepEqual(replaced(daemonSetOf(3), [held('a'), fresh('b', 1), old('c')]), ['c']);
    assert.deepEqual(replaced(daemonSetOf(3), [held('a'), fresh('b', 1), fresh('c', 1)]), []);
  });

  it('the rolling update is left to the DaemonSet controller where that can go on by its own count', () => {
    assert.deepEqual(replaced(daemonSetOf(3), [old('a'), old('b'), old('c')]), [], 'nothing is held');
    const two = daemonSetOf(4, { maxUnavailable: 2 });
    assert.deepEqual(replaced(two, [held('a'), old('b'), old('c'), old('d')]), []);
    assert.deepEqual(replaced(two, [held('a'), fresh('b'), old('c'), old('d')]), ['c'], 'its count is used up');
    assert.deepEqual(replaced(daemonSetOf(4, { maxUnavailable: '50%' }), [held('a'), held('b'), old('c'), old('d')]), [
      'c',
      'd',
    ]);
  });

  it('the rolling update is left alone where it surges, or is done by hand', () => {
    assert.deepEqual(replaced(daemonSetOf(2, { maxSurge: 1, maxUnavailable: 0 }), [held('a'), old('b')]), []);
    assert.deepEqual(replaced(daemonSetOf(2, {}, { updateStrategy: { type: 'OnDelete' } }), [held('a'), old('b')]), []);
  });

  it('the rolling update waits until a new pod has been ready for minReadySeconds', () => {
    const daemonSet = daemonSetOf(3, {}, { minReadySeconds: 10 });
    const step = decideRollout({ daemonSet, hash: 'new', pods: [held('a'), fresh('b', 4), old('c')] }, NOW);
    assert.deepEqual(step, { replace: [], againMs: 6_000 });
    assert.deepEqual(replaced(daemonSet, [held('a'), fresh('b', 10), old('c')]), ['c']);
  });

  it('the rolling update knows the current template by the newest revision, once the DaemonSet controller has seen it', () => {
    const revision = (number: number, hash: string, uid = 'ds'): Parameters<typeof currentHash>[1][number] => ({
      metadata: { name: hash, labels: { [REVISION_HASH_LABEL]: hash }, ownerReferences: [{ ...OWNER, uid }] },
      revision: number,
    });
    const revisions = [revision(1, 'old'), revision(2, 'new'), revision(3, 'foreign', 'another')];
    assert.equal(currentHash(daemonSetOf(1), revisions), 'new');
    const changed = daemonSetOf(1);
    assert.equal(currentHash({ ...changed, metadata: { ...changed.metadata, generation: 3 } }, revisions), undefined);
  });
});
