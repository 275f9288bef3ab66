import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import { measureExports } from '../../structure/exports.ts';
import { importsOf } from '../../structure/imports.ts';
import { measureStructure } from '../../structure/measure.ts';
import { unmirroredTests } from '../../structure/mirror.ts';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');

/** What the structure may be at most. A limit may only be lowered. */
const LIMITS = {
  'files in the largest folder': 15,
  'circles between files': 0,
  'circles between folders': 0,
  'upward imports': 0,
  'members of the context of the agent': 12,
  'functions over 80 lines': 0,
  'functions with more than 4 parameters': 0,
  'agent files that no unit test imports': 5,
  'exports that no other file imports': 0,
  'exports that only tests use': 0,
  'functions and constants that only tests import': 51,
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
  'cli/views/views',
  'cli/wrong-usages',
  'controller/volumes',
  'controller/work-by-change',
  'decide/ownership',
  'decide/shutdown/api-wait',
  'decide/shutdown/completed-maintenance',
  'decide/shutdown/lost-maintenance',
  'host/systemd/lock-holder',
];

const structure = await measureStructure(ROOT);
const exported = await measureExports(ROOT);

const FOUND: Readonly<Record<keyof typeof LIMITS, readonly unknown[]>> = {
  'files in the largest folder': Array.from({ length: structure.folders[0]?.files ?? 0 }, () => structure.folders[0]),
  'circles between files': structure.circles.withTypes,
  'circles between folders': structure.folderCircles.withTypes,
  'upward imports': structure.upward,
  'members of the context of the agent': Array.from({ length: structure.agentContext.members }),
  'functions over 80 lines': structure.long,
  'functions with more than 4 parameters': structure.manyParameters,
  'agent files that no unit test imports': structure.untestedAgentFiles,
  'exports that no other file imports': exported.unused,
  'exports that only tests use': exported.dead,
  'functions and constants that only tests import': exported.testedAlone,
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
      .filter((file) => !/^src\/(?:show|cli|demo|addons|main\.ts)/.test(file))
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
  'src/agent/loop.ts':
    "import type { Rule } from '../decide/rule.ts';\n\nexport interface LoopContext {\n  readonly a: Rule;\n  b?(\n    c: number,\n  ): void;\n}\nexport const x = 1;\n",
  'src/agent/tested.ts': 'export const y = 2;\n',
  'src/decide/rule.ts':
    "import type { LoopContext } from '../agent/loop.ts';\n/** A rule. */\nexport type Rule = LoopContext;\n",
  'src/controller/work.ts': "import { x } from '../agent/loop.ts';\nexport const z = x;\n",
  'src/host/clock.ts': `export function long(a: number, b: number, c: number, d: number, e: number): number {\n${'  a += 1;\n'.repeat(80)}  return a + b + c + d + e;\n}\n`,
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

describe('the script that reads exports', () => {
  it('the script finds exports that nobody imports, and names that two files export', async () => {
    const root = await mkdtemp(path.join(tmpdir(), 'nodemaint-exports-'));
    try {
      for (const [file, text] of Object.entries(EXPORTING)) {
        await mkdir(path.dirname(path.join(root, file)), { recursive: true });
        await writeFile(path.join(root, file), text);
      }
      assert.deepEqual(await measureExports(root), {
        count: 7,
        unused: ['src/a.ts unused'],
        dead: ['src/a.ts same', 'src/a.ts Used', 'src/b.ts same', 'src/b.ts Later', 'src/b.ts Shape'],
        testedAlone: ['src/c.ts everything'],
        shared: ['same src/a.ts src/b.ts'],
      });
    } finally {
      await rm(root, { recursive: true });
    }
  });
});

describe('the script that measures the structure', () => {
  it('the script finds circles, upward imports, long functions, many parameters, and files without a test', async () => {
    const root = await mkdtemp(path.join(tmpdir(), 'nodemaint-structure-'));
    try {
      for (const [file, text] of Object.entries(FAULTY)) {
        await mkdir(path.dirname(path.join(root, file)), { recursive: true });
        await writeFile(path.join(root, file), text);
      }
      const found = await measureStructure(root);
      assert.deepEqual(found.circles, { withTypes: [['src/agent/loop.ts', 'src/decide/rule.ts']], withoutTypes: [] });
      assert.deepEqual(found.folderCircles.withTypes, [['src/agent', 'src/decide']]);
      assert.deepEqual(found.upward, [
        ['src/controller/work.ts', 'src/agent/loop.ts'],
        ['src/decide/rule.ts', 'src/agent/loop.ts'],
      ]);
      assert.deepEqual(found.agentContext, { name: 'LoopContext', members: 2 });
      assert.deepEqual(found.untestedAgentFiles, ['src/agent/loop.ts']);
      const long = { file: 'src/host/clock.ts', line: 1, name: 'long', nested: false };
      assert.deepEqual(found.long, [{ ...long, count: 83 }]);
      assert.deepEqual(found.manyParameters, [{ ...long, count: 5 }]);
      assert.deepEqual(found.folders[0], { folder: 'src/agent', files: 2 });
      assert.deepEqual(found.lines, { code: 96, comments: 1, blank: 1 });
    } finally {
      await rm(root, { recursive: true });
    }
  });
});
