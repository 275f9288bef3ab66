/** What test files need that takes minutes to make. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { needsOf } from '../../needs/imports.ts';
import { TABLE } from '../../needs/table.ts';
import { planOf, SUITES } from '../../suites.ts';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');

describe('the needs of test files', () => {
  const CASES: readonly (readonly [string, readonly string[]])[] = [
    ['integration/shutdown/logind', []],
    ['integration/machine/install', []],
    ['integration/drain/drain', ['clients', 'kubernetes']],
    ['integration/controller/chart', ['clients', 'kubernetes']],
    ['integration/machine/package', ['nfpm']],
    ['e2e/reboot-all', ['clients', 'kubernetes', 'root-12']],
  ];
  for (const [name, needs] of CASES) {
    it(`${name} waits for what it imports: ${needs.join(', ')}`, async () => {
      const file = `test/${name}.test.ts`;
      assert.deepEqual((await needsOf([file])).get(file), needs);
    });
  }

  it('each need is asked for in the file that the table names for it', async () => {
    const files = globSync('test/{integration,e2e}/**/*.test.ts', { cwd: ROOT }).sort();
    const asked = new Set([...(await needsOf(files)).values()].flat());
    const needs = TABLE.map(({ need }) => need).filter((need) => !asked.has(need));
    assert.deepEqual(needs, []);
  });
});

describe('the suites', () => {
  it('all files that the suites name are there', () => {
    for (const [name, suite] of Object.entries(SUITES))
      assert.ok(planOf(name, suite, true).groups.flat().length > 0, name);
  });

  it('the gate leaves out what the thorough run has', () => {
    for (const [name, suite] of Object.entries(SUITES)) {
      const { leftOut, groups } = planOf(name, suite, false);
      const whole = planOf(name, suite, true).groups.flat();
      assert.deepEqual([...leftOut, ...groups.flat()].toSorted(), whole.toSorted(), name);
    }
  });
});
