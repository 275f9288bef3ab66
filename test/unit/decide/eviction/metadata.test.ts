import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest } from '../../../../src/api/eviction-request.ts';
import { NODE_LABEL } from '../../../../src/api/names.ts';
import { decideLabels } from '../../../../src/decide/eviction/metadata.ts';

describe('the labels of an EvictionRequest', () => {
  it('the labels are those of the pod and its node, but none of ours from the pod', () => {
    const labels = { app: 'a', [NODE_LABEL]: 'stolen' };
    const given = { metadata: { name: 'u', labels: { app: 'old', own: 'x' } } } as unknown as EvictionRequest;
    const decided = decideLabels(given, { metadata: { name: 'p', labels }, spec: { nodeName: 'n' } });
    const wanted = { app: 'a', [NODE_LABEL]: 'n' };
    assert.deepEqual(decided, { annotations: {}, wanted, differs: true, hasOthers: true });
  });

  it('a label that its pod lacks is seen whatever its name, also one that every object inherits', () => {
    for (const key of ['app', 'constructor', 'toString']) {
      const request = { metadata: { name: 'u', labels: { [key]: 'x' } } } as unknown as EvictionRequest;
      const { hasOthers } = decideLabels(request, { metadata: { name: 'p' }, spec: {} });
      assert.equal(hasOthers, true, key);
    }
  });
});
