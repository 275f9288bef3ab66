import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isSameBuild } from '../../../../src/show/fleet/same-build.ts';

describe('two builds of one version', () => {
  it('they are told apart by their commits, where both say one', () => {
    assert.equal(isSameBuild('0.2.0+aaa', '0.2.0+bbb'), false);
    assert.equal(isSameBuild('0.2.0+aaa', '0.2.0+aaa-dirty'), false);
    assert.equal(isSameBuild('0.2.0+aaa', '0.2.0+aaa'), true);
    assert.equal(isSameBuild('0.2.0', '0.2.0+bbb'), true);
    assert.equal(isSameBuild('0.1.0', '0.2.0+bbb'), false);
  });
});
