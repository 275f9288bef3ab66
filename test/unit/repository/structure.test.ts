import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { measureExports } from '../../structure/exports.ts';
import { importsOf } from '../../structure/imports.ts';
import { measureStructure } from '../../structure/measure.ts';
import { unmirroredTests } from '../../structure/mirror.ts';
import { temporaryFolder } from '../../support/folder.ts';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');

/** What the structure may be at most. A limit may only be lowered. */
const LIMITS = {
  'files in the largest folder': 15,
  'circles between folders': 0,
  'upward imports': 0,
  'agent files that no unit test imports': 5,
  'exports that no other file imports': 0,
  'exports that only tests use': 0,
  'names that more than one file exports': 0,
} as const;

/** How many files may break each cap of .oxlintrc.json. A limit may only be lowered. */
const EXCEPTIONS: Readonly<Record<string, number>> = { 'max-lines-per-function': 0, 'max-params': 0, complexity: 4 };

/** Unit tests of what several files do together, so that none of these has its name. */
const OF_SEVERAL_FILES = [
  'agent/clock-steps',
  'agent/drain/offline/completed-by-others',
  'agent/node-object-deleted',
  'agent/run-agent',
  'agent/shutdown/lost-shutdown',
  'agent/slow-hooks',
  'cli/documents',
  'cli/terminal/hostile-texts',
  'cli/views/states-and-views',
  'cli/views/views',
  'cli/wrong-usages',
  'controller/volumes',
  'controller/work-by-change',
  'decide/ownership',
  'decide/shutdown/api-wait',
  'decide/shutdown/lost-maintenance',
  'host/systemd/lock-holder',
];

const structure = await measureStructure(ROOT);
const exported = await measureExports(ROOT);

const FOUND: Readonly<Record<keyof typeof LIMITS, readonly unknown[]>> = {
  'files in the largest folder': structure.largestFolder,
  'circles between folders': structure.folderCircles,
  'upward imports': structure.upward,
  'agent files that no unit test imports': structure.untestedAgentFiles,
  'exports that no other file imports': exported.unused,
  'exports that only tests use': exported.dead,
  'names that more than one file exports': exported.shared,
};

describe('the structure of the source', () => {
  for (const [what, limit] of Object.entries(LIMITS)) {
    it(`the structure of the source has at most ${limit} ${what}`, () => {
      const found = FOUND[what as keyof typeof LIMITS];
      assert.ok(found.length <= limit, `${found.length}: ${JSON.stringify(found, undefined, 1)}`);
    });
  }
});

/** What programs publish: figures for metrics. Nothing else of what people see is imported where something is done. */
const PUBLISHED = { importers: ['src/controller/', 'src/telemetry/'], imported: 'src/show/counts/' };

describe('the wall between what is done and what people see', () => {
  it('the wall is passed by figures alone: agent, controller and all effects import nothing of src/show', async () => {
    const files = globSync('src/**/*.ts', { cwd: ROOT })
      .filter((file) => !/^src\/(?:show|cli|addons|main\.ts)/.test(file))
      .map((file) => path.join(ROOT, file));
    assert.ok(files.length > 200);
    const through = (await importsOf(files))
      .map(({ from, to }) => ({ from: path.relative(ROOT, from), to: path.relative(ROOT, to) }))
      .filter(({ to }) => to.startsWith('src/show/'))
      .filter(
        ({ from, to }) =>
          !(to.startsWith(PUBLISHED.imported) && PUBLISHED.importers.some((folder) => from.startsWith(folder))),
      );
    assert.deepEqual(through, []);
  });
});

describe('the unit tests', () => {
  it('the unit tests are at the paths of the files that they test, or are of several files and named here', () => {
    assert.deepEqual(unmirroredTests(ROOT), OF_SEVERAL_FILES);
  });
});

interface LintConfig {
  readonly overrides: readonly {
    readonly files: readonly string[];
    readonly rules: Readonly<Record<string, unknown>>;
  }[];
}

describe('the exceptions from the caps of the lint rules', () => {
  for (const [rule, limit] of Object.entries(EXCEPTIONS)) {
    it(`the exceptions from the caps of the lint rules are at most ${limit} files for ${rule}, each named in full`, async () => {
      const { overrides } = JSON.parse(await readFile(path.join(ROOT, '.oxlintrc.json'), 'utf8')) as LintConfig;
      const files = overrides.filter(({ rules }) => rules[rule] === 'off').flatMap((override) => override.files);
      assert.ok(files.length <= limit, `${files.length}: ${files.join(' ')}`);
      for (const file of files) assert.ok((await stat(path.join(ROOT, file))).isFile(), file);
    });
  }
});

/** A checkout with every fault that the script looks for. */
const FAULTY: Readonly<Record<string, string>> = {
  'src/agent/loop.ts': "import type { Rule } from '../decide/rule.ts';\n\nexport const x: Rule = 1;\n",
  'src/agent/tested.ts': 'export const y = 2;\n',
  'src/decide/rule.ts': "export type { x } from '../agent/loop.ts';\n/** A rule. */\nexport type Rule = number;\n",
  'src/controller/work.ts': "import { x } from '../agent/loop.ts';\nexport const z = x;\n",
  'test/unit/agent/tested.test.ts': "import { y } from '../../../src/agent/tested.ts';\n",
};

/** Two files that export one name, one import of each kind, and an export that nobody uses. */
const EXPORTING: Readonly<Record<string, string>> = {
  'src/a.ts': 'export const same = 1;\nexport interface Used {}\nexport function unused(): void {}\n',
  'src/b.ts': 'export async function same(): Promise<void> {}\nexport class Later {}\nexport type Shape = 1;\n',
  'src/c.ts': 'export const everything = 1;\nconst more = everything;\n',
  'test/x.test.ts':
    "import { same, type Used as U } from '../src/a.ts';\nimport * as c from '../src/c.ts';\nconst { same: s, Later } = await import('../src/b.ts');\ntype T = import('../src/b.ts').Shape;\n",
};

/** A folder with these files, which is gone at the end of the test. */
async function checkoutOf(files: Readonly<Record<string, string>>, t: TestContext): Promise<string> {
  const root = await temporaryFolder(t, 'structure');
  for (const [file, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(root, file)), { recursive: true });
    await writeFile(path.join(root, file), text);
  }
  return root;
}

describe('the scripts that read the source', () => {
  it('the scripts find exports that nobody imports, and names that two files export', async (t) => {
    assert.deepEqual(await measureExports(await checkoutOf(EXPORTING, t)), {
      count: 7,
      unused: ['src/a.ts unused'],
      dead: ['src/a.ts same', 'src/a.ts Used', 'src/b.ts same', 'src/b.ts Later', 'src/b.ts Shape'],
      shared: ['same src/a.ts src/b.ts'],
    });
  });

  it('the scripts find circles, upward imports, and files without a test', async (t) => {
    assert.deepEqual(await measureStructure(await checkoutOf(FAULTY, t)), {
      largestFolder: ['src/agent/loop.ts', 'src/agent/tested.ts'],
      folderCircles: [['src/agent', 'src/decide']],
      upward: [
        ['src/controller/work.ts', 'src/agent/loop.ts'],
        ['src/decide/rule.ts', 'src/agent/loop.ts'],
      ],
      untestedAgentFiles: ['src/agent/loop.ts'],
    });
  });
});
