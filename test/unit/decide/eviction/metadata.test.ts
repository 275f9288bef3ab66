import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest } from '../../../../src/api/eviction-request.ts';
import { decideLabels } from '../../../../src/decide/eviction/metadata.ts';

describe('the labels of an EvictionRequest', () => {
  it('a label that its pod lacks is seen whatever its name, also one that every object inherits', () => {
    for (const key of ['app', 'constructor', 'toString']) {
      const request = { metadata: { name: 'u', labels: { [key]: 'x' } } } as unknown as EvictionRequest;
      const { hasOthers } = decideLabels(request, { metadata: { name: 'p' }, spec: {} });
      assert.equal(hasOthers, true, key);
    }
  });
});
