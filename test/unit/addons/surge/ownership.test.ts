/** What a surge sets on objects of others is given back, and nothing of theirs is taken away or changed. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  deletionCostPatch,
  surgePatch,
  surgeRecordOf,
  withoutPod,
} from '../../../../src/addons/surge/decide/record.ts';
import { DELETION_COST_ANNOTATION, type Deployment } from '../../../../src/addons/surge/api/deployment.ts';
import { SURGE_ANNOTATION, SURGE_LABEL } from '../../../../src/addons/surge/api/names.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { mergePatch } from '../../../support/stand-ins/patches.ts';

const FREE_POD: Pod = { metadata: { name: 'p', uid: 'u', annotations: { owner: 'shop' } }, spec: {} };
const FREE: Deployment = {
  metadata: { name: 'd', namespace: 'x', labels: { team: 'shop' }, annotations: { owner: 'shop' } },
  spec: { replicas: 1 },
};

function patched<T>(object: T, patch: object | undefined): T {
  return patch === undefined ? object : (mergePatch(object, patch) as T);
}

/** The Deployment with one more pod for the pod u. */
function added(deployment: Deployment): Deployment {
  const { replicas = 1 } = deployment.spec;
  const change = { record: { replicas, pods: new Map([['u', 0]]) }, replicas: replicas + 1 };
  return patched(deployment, surgePatch(deployment, change));
}

/** The Deployment after the pod u is not asked to leave any more. */
function givenBack(deployment: Deployment): Deployment {
  const change = withoutPod(deployment, 'u');
  return patched(deployment, change && surgePatch(deployment, change));
}

describe('what is of a surge and what is of others', () => {
  it('the replica, the record and the label of a surge are given back without a trace', () => {
    const held = added(FREE);
    assert.equal(held.spec.replicas, 2);
    assert.equal(held.metadata.labels?.[SURGE_LABEL], 'true');
    const free = givenBack(held);
    assert.deepEqual(free.metadata.labels, FREE.metadata.labels);
    assert.deepEqual(free.metadata.annotations, FREE.metadata.annotations);
    assert.deepEqual(free.spec, FREE.spec);
  });

  it('the replicas that somebody sets in the middle stay, and the record goes', () => {
    const free = givenBack(patched(added(FREE), { spec: { replicas: 5 }, metadata: { labels: { tier: 'web' } } }));
    assert.equal(free.spec.replicas, 5);
    assert.deepEqual(free.metadata.labels, { team: 'shop', tier: 'web' });
    assert.equal(free.metadata.annotations?.[SURGE_ANNOTATION], undefined);
    assert.equal(surgeRecordOf(free), undefined);
  });

  it('the deletion cost of a pod is given back, and one of somebody else is never changed', () => {
    const marked = patched(FREE_POD, deletionCostPatch(FREE_POD, true));
    assert.notEqual(marked.metadata.annotations?.[DELETION_COST_ANNOTATION], undefined);
    assert.deepEqual(patched(marked, deletionCostPatch(marked, false)), FREE_POD);
    const theirs = patched(FREE_POD, { metadata: { annotations: { [DELETION_COST_ANNOTATION]: '7' } } });
    const since = patched(marked, { metadata: { annotations: { [DELETION_COST_ANNOTATION]: '7' } } });
    for (const pod of [theirs, since]) {
      assert.equal(deletionCostPatch(pod, true), undefined);
      assert.equal(deletionCostPatch(pod, false), undefined);
    }
  });
});
