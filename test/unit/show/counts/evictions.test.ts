import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../../src/api/pod.ts';
import { countEvictions } from '../../../../src/show/counts/evictions.ts';

const ANNOTATIONS = {
  'descheduler.alpha.kubernetes.io/request-evict-only': '',
  'descheduler.alpha.kubernetes.io/eviction-in-progress': '',
};

function pod(uid: string, annotations: Readonly<Record<string, string>>): Pod {
  return { metadata: { name: uid, namespace: 'default', uid, annotations }, spec: {} };
}

describe('the evictions in the background', () => {
  it('the evictions in the background are those of annotated pods and those that are promised, each once', () => {
    const pods = [pod('a', ANNOTATIONS), pod('b', ANNOTATIONS), pod('c', {})];
    assert.equal(countEvictions([], pods, ['default/b', 'default/c']).inBackground, 3);
    assert.equal(countEvictions([], pods, []).inBackground, 2);
  });
});
