/** Sequences of changes of the custom resources, in virtual time. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CHECKOUT } from '../../chaos/product.ts';
import { SUBJECTS } from '../../differential/subjects.ts';
import { Tally } from '../../differential/tally.ts';

describe('sequences of changes of the custom resources', () => {
  for (const subject of ['maintenance', 'request'] as const) {
    it(`nodes, pods and requests are as the last ${subject} alone leaves them`, async () => {
      const tally = new Tally();
      await SUBJECTS[subject]?.(CHECKOUT, { sequences: 2, seed: 1 }, tally);
      assert.deepEqual(tally.finds, []);
      assert.equal(tally.sequences, 2);
    });
  }
});
