import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { counted } from '../../../src/decide/counted.ts';

describe('a number of things', () => {
  it('one has the singular, and every other number the plural', () => {
    assert.equal(counted(0, 'pod is', 'pods are'), '0 pods are');
    assert.equal(counted(1, 'pod is', 'pods are'), '1 pod is');
    assert.equal(counted(12, 'pod is', 'pods are'), '12 pods are');
  });
});
