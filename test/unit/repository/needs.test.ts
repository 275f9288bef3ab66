/** What test files need that takes minutes to make: the table of it, and how files wait for it. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { describe, it } from 'node:test';
import { assertDeclared, DECLARED } from '../../needs/declared.ts';
import { needsOf } from '../../needs/imports.ts';
import { TABLE } from '../../needs/table.ts';
import { type Readiness, runFilesApart } from '../../files.ts';
import { planOf, SUITES } from '../../suites.ts';
import { makeTestFolder } from '../../support/folder.ts';

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

describe('a file that the runner starts', () => {
  it('a file that asks for what is not declared for it is told so', (t) => {
    t.after(() => {
      delete process.env[DECLARED];
    });
    process.env[DECLARED] = 'kubernetes,helm';
    assertDeclared('helm');
    assert.throws(() => assertDeclared('nfpm'), /asks for nfpm, but does not import the module/);
    delete process.env[DECLARED];
    assertDeclared('nfpm');
  });

  it('a file waits for what it needs while others run, fails without it, and knows what was made for it', async (t) => {
    const folder = await makeTestFolder('runner');
    // With it Node.js runs no tests, because a test runs it.
    const context = process.env['NODE_TEST_CONTEXT'];
    delete process.env['NODE_TEST_CONTEXT'];
    t.after(async () => {
      if (context !== undefined) process.env['NODE_TEST_CONTEXT'] = context;
      await rm(folder, { recursive: true });
    });
    const fileOf = async (name: string): Promise<string> => {
      const file = path.join(folder, `${name}.test.mjs`);
      await writeFile(file, `if (process.env.${DECLARED} !== 'kubernetes') throw new Error('it knows of nothing');`);
      return file;
    };
    const [first, second, third] = [await fileOf('waits'), await fileOf('ready'), await fileOf('lacks')];
    const order: string[] = [];
    const change = Promise.withResolvers<undefined>();
    let isMade = false;
    const readiness: Readiness = {
      of: (file) => {
        if (file === third) return { kind: 'lacks', what: 'helm' };
        return { kind: file === first && !isMade ? 'waits' : 'ready' };
      },
      changed: () => {
        isMade = true;
        change.resolve(undefined);
        return change.promise;
      },
    };
    const environmentOf = (file: string): Readonly<Record<string, string>> => {
      order.push(path.basename(file, '.test.mjs'));
      return { [DECLARED]: 'kubernetes' };
    };
    const timeoutMsOf = (): number => 60_000;
    const options = { reporter: 'tap', inNamespace: false, readiness, environmentOf, timeoutMsOf };
    const groups = [{ files: [first, second, third], concurrency: 1 }];
    const { passed, failures, again, costs } = await runFilesApart(groups, options);
    assert.deepEqual(again, []);
    assert.ok(costs.some(({ cpuSec }) => cpuSec > 0));
    assert.deepEqual(order, ['ready', 'waits']);
    assert.equal(passed, false);
    assert.deepEqual(failures, [`FAILED: ${third}\nhelm could not be made`]);
  });
});
