import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { withFault } from '../../chaos/faults.ts';
import { CHECKOUT } from '../../chaos/product.ts';
import { readPatternFaults } from '../../simulation/perturbed/faults.ts';
import { loadScenarios } from '../../perturbation/scenarios.ts';

describe('the deliberate faults of the three patterns', async () => {
  const scenarios = await loadScenarios();
  for (const [name, { edits, scenario, unit }] of await readPatternFaults()) {
    it(`the deliberate fault ${name} fits the sources, and there is where it is looked for; change its file with the sources`, async () => {
      assert.ok(scenario in scenarios);
      assert.ok(existsSync(path.join(CHECKOUT, unit)), unit);
      for (const edit of edits) {
        const source = await readFile(path.join(CHECKOUT, edit.file), 'utf8');
        assert.notEqual(withFault(source, edit), source);
      }
    });
  }
});
