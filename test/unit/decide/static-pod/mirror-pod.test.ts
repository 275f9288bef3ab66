import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest } from '../../../../src/api/eviction-request.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { judgeTarget, staticUidOf } from '../../../../src/decide/static-pod/mirror-pod.ts';

const REQUEST: EvictionRequest = {
  apiVersion: 'coordination.x-k8s.io/v1alpha1',
  kind: 'EvictionRequest',
  metadata: { name: 'u-1', namespace: 'kube-system' },
  spec: { target: { pod: { name: 'dns-a', uid: 'u-1' } } },
};
const mirrorOf = (uid: string, nodeName: string, annotations: Record<string, string>): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'dns-a', namespace: 'kube-system', uid, annotations },
  spec: { nodeName, priority: 2_000_000_000 },
});
const MIRROR = { 'kubernetes.io/config.mirror': 'h1', 'kubernetes.io/config.hash': 'h1' };
const HERE = { nodeName: 'a', isParked: false };

describe('the target of an eviction request', () => {
  it('the target of an eviction request is ours where name, UID and node are those of a mirror pod, whose resolved priority counts', () => {
    const verdict = judgeTarget(REQUEST, mirrorOf('u-1', 'a', MIRROR), HERE);
    assert.deepEqual(verdict, { kind: 'ours', priority: 2_000_000_000 });
  });

  it('the target of an eviction request stays ours when the mirror pod has gone with the containers of a parked manifest', () => {
    assert.deepEqual(judgeTarget(REQUEST, undefined, { ...HERE, isParked: true }), { kind: 'ours' });
  });

  for (const [what, mirror, message] of [
    ['an earlier mirror pod of the name', mirrorOf('u-2', 'a', MIRROR), /an earlier mirror pod .* \(u-1\), .* now u-2/],
    ["another node's pod", mirrorOf('u-1', 'b', MIRROR), /on the node b, not on a/],
    ['an ordinary pod', mirrorOf('u-1', 'a', {}), /no mirror pod/],
    ['a pod that is not there', undefined, /this node has no mirror pod kube-system\/dns-a/],
  ] as const) {
    it(`the target of an eviction request is not ours where it is ${what}`, () => {
      const verdict = judgeTarget(REQUEST, mirror, HERE);
      assert.equal(verdict.kind, 'not-ours');
      assert.match(verdict.message, message);
    });
  }

  it('the target of an eviction request is found among the containers by the hash of its mirror pod', () => {
    assert.equal(staticUidOf(mirrorOf('u-1', 'a', MIRROR)), 'h1');
    assert.equal(staticUidOf(mirrorOf('u-1', 'a', { 'kubernetes.io/config.mirror': 'h2' })), 'h2');
    assert.equal(staticUidOf(mirrorOf('u-1', 'a', { 'kubernetes.io/config.hash': 'h1' })), undefined);
  });
});
