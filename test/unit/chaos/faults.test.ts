import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { readFaults, withFault } from '../../chaos/faults.ts';
import { INVARIANTS } from '../../chaos/invariants/violation.ts';
import { CHECKOUT } from '../../chaos/product.ts';
import { STEP_KINDS } from '../../chaos/steps/kinds.ts';

const faults = await readFaults();

describe('the deliberate faults of the chaos test', () => {
  it('the deliberate faults violate every invariant', () => {
    const violated = new Set([...faults.values()].map(({ invariant }) => invariant));
    assert.deepEqual([...violated].toSorted(), Object.keys(INVARIANTS).toSorted());
  });

  for (const [name, { edits, steps }] of faults) {
    it(`the deliberate fault ${name} fits the sources and the steps of a history; change its file with the sources`, async () => {
      for (const edit of edits) {
        const source = await readFile(path.join(CHECKOUT, edit.file), 'utf8');
        assert.notEqual(withFault(source, edit), source);
      }
      const found = steps.filter((step) => STEP_KINDS[step.do] === undefined);
      assert.deepEqual(found, []);
    });
  }
});
