import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { readFaults, withFault } from '../../chaos/faults.ts';
import { CHECKOUT } from '../../chaos/product.ts';

describe('the deliberate faults', async () => {
  for (const [name, { edits }] of await readFaults()) {
    it(`the deliberate fault ${name} fits the sources; change its file with the sources`, async () => {
      for (const edit of edits) {
        const source = await readFile(path.join(CHECKOUT, edit.file), 'utf8');
        assert.notEqual(withFault(source, edit), source);
      }
    });
  }
});
