import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { statusErrors } from '../../../support/eviction/lifecycle-rules.ts';
import { atTime, expectedErrors, readValidationCases } from '../../../support/eviction/validation-cases.ts';
import { NOW } from './objects.ts';

describe("upstream's cases of the status of an Eviction", async () => {
  for (const each of await readValidationCases()) {
    if (each.kind !== 'eviction status') continue;
    const { name, clock, was = {}, is } = each;
    const errors = expectedErrors(each);
    it(`the rules of the tests ${errors === undefined ? 'take' : 'refuse'}: ${name}`, () => {
      const found = statusErrors(atTime(was, clock, NOW), atTime(is, clock, NOW), NOW);
      if (errors === undefined) assert.deepEqual(found, []);
      else assert.notDeepEqual(found, []);
    });
  }
});
