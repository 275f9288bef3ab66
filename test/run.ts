/**
 * Runs test suites with node:test: `node test/run.ts unit property integration`.
 * As root on Debian or Ubuntu it first installs what the suites need; it asks a person who is at the terminal. A suite that
 * needs what this machine still lacks fails in CI; elsewhere it says in one line what it lacks and how to get it.
 */
import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { type FilesOutcome, nodeTestArguments, runFilesApart, runProgram } from './processes.ts';
import { E2E, INTEGRATION, lacksOf, type Requirement } from './requirements.ts';
import { setUp } from './set-up.ts';

interface Suite {
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly requires: readonly Requirement[];
  /** Scripts that make, once, what no test should have to wait for. */
  readonly prepare?: readonly string[];
  /** Whether each file runs in a process of its own, and once more where it fails. */
  readonly apart?: boolean;
  /** Whether each has a process namespace of its own, too: its agents see no kubelet of another file. */
  readonly inNamespaces?: boolean;
  /** The files that take longest, which start first, so that none of them is left over at the end. */
  readonly first?: readonly string[];
  /** Files that run one at a time after the others: they measure times. */
  readonly alone?: readonly string[];
}

/** Some tests install the program as it is released. */
const BUNDLE = '.ci/bundle.ts';
const QUICK: Suite = { concurrency: 2, timeoutMs: 120_000, requires: [] };
const SUITES: Readonly<Record<string, Suite>> = {
  unit: {
    ...QUICK,
    alone: [
      'host/kubelet/finder',
      'decide/machine/kubelet-graceful-shutdown',
      'agent/static-pods/directory',
      'cli/local-node',
    ],
  },
  property: { ...QUICK, timeoutMs: 300_000 },
  crash: QUICK,
  integration: {
    prepare: [BUNDLE, 'test/control-plane/build.ts'],
    // They wait more than they work.
    concurrency: 3,
    timeoutMs: 600_000,
    apart: true,
    inNamespaces: true,
    first: [
      'drain/drain',
      'drain/offline',
      'drain/self',
      'drain/volumes',
      'shutdown/story',
      'daemon-set/gating',
      'eviction/crash',
      'machine/install',
      'static-pods/static-pods',
      'machine/broken-disk',
      'eviction/imperative',
      'cli/drain',
      'control-plane/control-plane',
      'eviction/hostile-times',
      'eviction/interceptor-deadline',
    ],
    alone: [
      'controller/deployment',
      'controller/flood',
      'controller/leader',
      'daemon-set/gate',
      'notices/notices',
      'shutdown/inhibitor-lock',
      'shutdown/lock',
      'shutdown/logind',
      'shutdown/schedule',
      'shutdown/watchdog',
    ],
    requires: INTEGRATION,
  },
  e2e: {
    prepare: [BUNDLE, 'test/build-all.ts'],
    concurrency: 1,
    timeoutMs: 2_400_000,
    apart: true,
    requires: E2E,
  },
};

/** The suite's files: those that run together, the slowest first, and those that run alone. */
function planOf(name: string, { first = [], alone = [] }: Suite): readonly [readonly string[], readonly string[]] {
  const files = globSync(`test/${name}/**/*.test.ts`).sort();
  const pathOf = (each: string): string => `test/${name}/${each}.test.ts`;
  const missing = [...first, ...alone].map(pathOf).filter((file) => !files.includes(file));
  if (files.length === 0 || missing.length > 0) throw new Error(`suite ${name} has no file ${missing.join(', ')}`);
  const slow = first.map(pathOf);
  const last = alone.map(pathOf);
  return [[...slow, ...files.filter((file) => !slow.includes(file) && !last.includes(file))], last];
}

/** Runs a suite. The suites that run in one runner print their failures themselves. */
async function runSuite(name: string, suite: Suite): Promise<FilesOutcome> {
  const groups = planOf(name, suite);
  const reporter = process.stdout.isTTY ? 'spec' : (process.env['TEST_REPORTER'] ?? 'spec');
  const outcomes: FilesOutcome[] = [];
  for (const [index, files] of groups.entries()) {
    const concurrency = index === 0 ? suite.concurrency : 1;
    const { timeoutMs, inNamespaces = false } = suite;
    const options = { concurrency, timeoutMs, inNamespaces, reporter };
    if (files.length === 0) continue;
    outcomes.push(
      suite.apart === true
        ? await runFilesApart(files, options)
        : {
            passed: (await runProgram(process.execPath, [...nodeTestArguments(options), ...files])) === 0,
            failures: [],
          },
    );
  }
  return {
    passed: outcomes.every(({ passed }) => passed),
    failures: outcomes.flatMap(({ failures }) => failures),
  };
}

/** Starts to make what the suites need, each thing once, while others already run. */
function startPreparing(names: readonly string[]): ReadonlyMap<string, Promise<number>> {
  const scripts = new Set(names.flatMap((name) => SUITES[name]?.prepare ?? []));
  // At a low priority, for it takes all processors, and the quick tests measure times too.
  const run = (script: string): Promise<number> =>
    runProgram('nice', ['-n', '10', process.execPath, '--disable-warning=ExperimentalWarning', script]);
  return new Map([...scripts].map((script) => [script, run(script)]));
}

/** Runs the suites one after another; resolves to the exit code. */
async function main(names: readonly string[], signal: AbortSignal): Promise<number> {
  const unknown = names.find((name) => SUITES[name] === undefined);
  if (unknown !== undefined) {
    console.error(`no suite ${unknown}; there are ${Object.keys(SUITES).join(', ')}`);
    return 2;
  }
  await setUp(
    names.flatMap((name) => SUITES[name]?.requires ?? []),
    signal,
  );
  const suites = names.flatMap((name) => {
    const suite = SUITES[name];
    return suite === undefined ? [] : [{ name, suite, lacks: lacksOf(suite.requires) }];
  });
  const prepared = startPreparing(suites.filter(({ lacks }) => lacks === '').map(({ name }) => name));
  let passed = true;
  const failures: string[] = [];
  for (const { name, suite, lacks } of suites) {
    if (lacks !== '') {
      console.error(`suite ${name} NOT RUN: this machine lacks ${lacks}`);
      passed &&= process.env['CI'] === undefined;
      continue;
    }
    console.error(`suite ${name}`);
    const codes = await Promise.all((suite.prepare ?? []).map(async (script) => await prepared.get(script)));
    if (codes.some((code) => code !== 0)) {
      passed = false;
      continue;
    }
    const outcome = await runSuite(name, suite);
    passed &&= outcome.passed;
    failures.push(...outcome.failures);
  }
  // At the end too: the output of all suites is long.
  for (const failure of failures) console.log(`\n=== ${failure}`);
  return passed ? 0 : 1;
}

// Each program of each test compiles the same source: with a cache that takes a third of the time.
const compileCache = mkdtempSync(path.join(tmpdir(), 'nodemaint-compile-cache-'));
process.env['NODE_COMPILE_CACHE'] ??= compileCache;
try {
  process.exitCode = await main(process.argv.slice(2), new AbortController().signal);
} finally {
  rmSync(compileCache, { recursive: true, force: true });
}
