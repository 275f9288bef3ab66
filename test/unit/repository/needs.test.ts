/** What test files need that takes minutes to make: the table of it, and how files wait for it. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { before, describe, it } from 'node:test';
import { assertDeclared, DECLARED } from '../../needs/declared.ts';
import { isOf, needsOf, TABLE } from '../../needs/table.ts';
import { type Readiness, runFilesApart } from '../../processes.ts';
import { importsOf } from '../../structure/imports.ts';
import { makeTestFolder } from '../../support/folder.ts';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');
/** The files of the other suites get nothing made: the runner refuses them what they ask for. */
const FILES = globSync('test/{integration,e2e}/**/*.test.ts', { cwd: ROOT }).sort();

/** Who imports one of these asks for the need; the root folders of all releases of Debian are one, as is a release of Kubernetes. */
const MODULES: Readonly<Record<string, string>> = {
  kubernetes: 'test/control-plane/binaries.ts',
  helm: 'test/helm/helm.ts',
  'helm-docs': 'test/helm/docs/helm-docs.ts',
  kubeconform: 'test/helm/kubeconform/kubeconform.ts',
  'foreign-crds': 'test/helm/crds/crds.ts',
  nfpm: '.ci/nfpm.ts',
  krew: 'test/krew/krew.ts',
  kubeadm: 'test/kubeadm/programs.ts',
  prometheus: 'test/prometheus/prometheus.ts',
  'ec2-metadata-mock': 'test/ec2-metadata-mock/binary.ts',
  machine: 'test/e2e/machine/machine.ts',
  root: 'test/systemd/roots.ts',
};
const RELEASE = /\breleaseOf\('(?<minor>[\d.]+)'\)/g;
/** A script that a test runs as a program of its own. */
const SCRIPT = /'(?<script>\.ci\/[\w-]+\.ts)'/g;

/** Files that import more than they run, and what they do not ask for. */
const IMPORTED_ONLY: Readonly<Record<string, string>> = {
  'test/integration/release/scripts.test.ts': 'nfpm',
  'test/integration/security/attacks.test.ts': '1.37',
};

/** The files of the project that a file imports or runs, itself included. */
type Closure = (file: string) => ReadonlySet<string>;

/** Reads all that the test files import. */
async function readClosures(): Promise<Closure> {
  const next = new Map<string, readonly string[]>();
  let unread = [...FILES];
  while (unread.length > 0) {
    const imports = await importsOf(unread.map((file) => path.join(ROOT, file)));
    for (const file of unread) {
      const own = imports.filter(({ from, typeOnly }) => !typeOnly && from === path.join(ROOT, file));
      const scripts = [...readFileSync(path.join(ROOT, file), 'utf8').matchAll(SCRIPT)];
      next.set(file, [
        ...own.map(({ to }) => path.relative(ROOT, to)).filter((to) => to.endsWith('.ts')),
        ...scripts.map(({ groups }) => groups?.['script'] ?? ''),
      ]);
    }
    unread = [...new Set([...next.values()].flat())].filter((file) => !next.has(file));
  }
  return (file) => {
    const found = new Set([file]);
    // A set gives also what is added to it meanwhile.
    for (const each of found) for (const to of next.get(each) ?? []) found.add(to);
    return found;
  };
}

function askedBy(closure: ReadonlySet<string>): readonly string[] {
  const imported = Object.entries(MODULES).filter(([, module]) => closure.has(module));
  const releases = [...closure]
    .filter((file) => file.startsWith('test/') && file !== 'test/control-plane/releases.ts')
    .flatMap((file) => [...readFileSync(path.join(ROOT, file), 'utf8').matchAll(RELEASE)])
    .map(({ groups }) => groups?.['minor'] ?? '');
  return [...new Set([...imported.map(([need]) => need), ...releases])];
}

describe('the table of needs', () => {
  const asked = new Map<string, readonly string[]>();

  before(async () => {
    const closureOf = await readClosures();
    for (const file of FILES) {
      const needs = askedBy(closureOf(file));
      const without = IMPORTED_ONLY[file];
      assert.ok(without === undefined || needs.includes(without), `${file} does not import what makes ${without}`);
      const other = needs.filter((need) => need !== without);
      asked.set(file, other);
    }
  });

  const isDeclared = (declared: readonly string[], need: string): boolean =>
    declared.some((each) => each === need || each.startsWith(`${need}-`) || each.endsWith(`-${need}`));

  it('the table declares for each file all that it asks for', () => {
    const missing = [...asked].flatMap(([file, needs]) => {
      const declared = needsOf(file, true);
      return needs.filter((need) => !isDeclared(declared, need)).map((need) => `${file} asks for ${need}`);
    });
    assert.deepEqual(missing, [], 'declare it in test/needs/table.ts');
  });

  it('the table declares nothing for which no file asks', () => {
    const unused = TABLE.flatMap((row) =>
      row.files
        .filter((pattern) => {
          const files = [...asked.keys()].filter((file) => isOf({ ...row, files: [pattern] }, file));
          return !files.some((file) => asked.get(file)?.some((need) => isDeclared([row.need], need)));
        })
        .map((pattern) => `${row.need}: ${pattern}`),
    );
    assert.deepEqual(unused, []);
  });
});

describe('a file that the runner starts', () => {
  it('a file that asks for what is not declared for it is told so', (t) => {
    t.after(() => {
      delete process.env[DECLARED];
    });
    process.env[DECLARED] = 'kubernetes,helm';
    assertDeclared('helm');
    assert.throws(() => assertDeclared('krew'), /asks for krew, which test\/needs\/table\.ts does not declare for it/);
    delete process.env[DECLARED];
    assertDeclared('krew');
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
    const options = { concurrency: 1, timeoutMs: 60_000, reporter: 'tap', readiness, environmentOf };
    const { passed, failures } = await runFilesApart([first, second, third], options);
    assert.deepEqual(order, ['ready', 'waits']);
    assert.equal(passed, false);
    assert.deepEqual(failures, [`FAILED: ${third}\nhelm could not be made`]);
  });
});
