import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { attackCount, attackPage } from '../../support/attacks/table.ts';

const PAGE = path.join(import.meta.dirname, '..', '..', '..', 'docs', 'reference', 'security-attacks.md');

describe('the table of attacks in the documentation', () => {
  it('the table is that of the attacks which test/integration/security/attacks.test.ts tries', async () => {
    const how = 'write it again with: node test/support/attacks/write-page.ts';
    assert.equal(await readFile(PAGE, 'utf8'), attackPage(), how);
  });

  it('the table has more than a hundred attacks', () => {
    assert.ok(attackCount() > 100);
  });
});
