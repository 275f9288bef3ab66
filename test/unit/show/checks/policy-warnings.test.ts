import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { policyWarnings } from '../../../../src/show/checks/policy-warnings.ts';

/** As kube-apiserver 1.33.13 writes it. */
const EARLY =
  "/v1, Kind=Pod: ERROR: <input>:1:6: undeclared reference to 'params' (in container '')\n | !has(params.spec.stage)\n | .....^\n";
const WRONG = "/v1, Kind=Pod: ERROR: <input>:1:8: undefined field 'spce'\n | object.spce\n | ......^\n";

describe('the warnings of a policy', () => {
  const named = { name: 'held', hasParams: true };

  it('leave out a check that came before the kind of the parameters was known', () => {
    assert.deepEqual(policyWarnings({ ...named, warnings: [EARLY] }), []);
    assert.deepEqual(policyWarnings({ ...named, warnings: [EARLY, WRONG] }), [`held: ${WRONG}`]);
  });

  it('keep what is wrong', () => {
    assert.deepEqual(policyWarnings({ ...named, hasParams: false, warnings: [EARLY] }), [`held: ${EARLY}`]);
    assert.deepEqual(policyWarnings({ ...named, warnings: [EARLY + WRONG] }), [
      `held: ${(EARLY + WRONG).slice(0, 200)}`,
    ]);
    assert.deepEqual(policyWarnings({ ...named, warnings: ['anything else'] }), ['held: anything else']);
  });
});
