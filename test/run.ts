/**
 * Runs test suites, or some of their files, with node:test: `node test/run.ts unit property integration`, or
 * `node test/run.ts test/integration/drain/drain.test.ts`. As root on Debian or Ubuntu it first installs what the suites
 * require; it asks a person who is at the terminal. A suite that requires what this machine still lacks fails in CI;
 * elsewhere it says in one line what it lacks and how to get it. What files need that takes minutes to make (needs/table.ts)
 * is made before they begin, while others already run.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { DECLARED, type Need } from './needs/declared.ts';
import { type Making, startMaking } from './needs/making.ts';
import { needsOf } from './needs/imports.ts';
import { TABLE } from './needs/table.ts';
import { type FilesOutcome, nodeTestArguments, type Readiness, runFilesApart, runProgram } from './processes.ts';
import { lacksOf } from './requirements.ts';
import { setUp } from './set-up.ts';
import { planOf, type Suite, SUITES } from './suites.ts';
import { BUNDLE, PROGRAM_VARIABLE } from './support/commands/program.ts';

/** A suite that is to run, or some files of it. */
interface Run {
  readonly name: string;
  readonly suite: Suite;
  /** Those that run together, and those that run alone after them. */
  readonly groups: readonly (readonly string[])[];
}

const THOROUGH = process.env['NODEMAINT_TESTS'] === 'all';

/** What is to run, by the names of suites and the paths of files; says which name there is not, and is undefined then. */
function runsOf(names: readonly string[]): readonly Run[] | undefined {
  const runs: Run[] = [];
  const left = new Set(names);
  for (const [name, suite] of Object.entries(SUITES)) {
    const isWhole = names.includes(name);
    // A file that is asked for by its path runs, whatever the suite leaves out.
    const { leftOut, groups: all } = planOf(name, suite, THOROUGH || !isWhole);
    const groups = isWhole ? all : all.map((files) => files.filter((file) => left.has(file)));
    for (const file of leftOut) console.error(`left out, NODEMAINT_TESTS=all runs it: ${file}`);
    for (const each of [name, ...groups.flat()]) left.delete(each);
    if (groups.flat().length > 0) runs.push({ name, suite, groups });
  }
  const [unknown] = left;
  if (unknown === undefined) return runs;
  console.error(`no suite or test file ${unknown}; the suites are ${Object.keys(SUITES).join(', ')}`);
  return undefined;
}

type Needs = ReadonlyMap<string, readonly Need[]>;

/** Whether a file may begin. */
function readinessOf(making: Making, needs: Needs): Readiness {
  return {
    of: (file) => {
      const states = (needs.get(file) ?? []).map((need) => [need, making.stateOf(need)] as const);
      const failed = states.filter(([, state]) => state === 'failed').map(([need]) => need);
      if (failed.length > 0) return { kind: 'lacks', what: failed.join(', ') };
      return { kind: states.some(([, state]) => state === 'awaited') ? 'waits' : 'ready' };
    },
    changed: () => making.changed(),
  };
}

/** Runs a suite. The suites that run in one runner print their failures themselves. */
async function runSuite({ suite, groups }: Run, readiness: Readiness, needs: Needs): Promise<FilesOutcome> {
  const reporter = process.stdout.isTTY ? 'spec' : (process.env['TEST_REPORTER'] ?? 'spec');
  const outcomes: FilesOutcome[] = [];
  for (const [index, files] of groups.entries()) {
    const concurrency = index === 0 ? suite.concurrency : 1;
    const { timeoutMs, inNamespaces = false } = suite;
    const options = { concurrency, timeoutMs, inNamespaces, reporter };
    if (files.length === 0) continue;
    if (suite.apart === true) {
      const program = { [PROGRAM_VARIABLE]: BUNDLE };
      const environmentOf = (file: string) => ({ ...program, [DECLARED]: (needs.get(file) ?? []).join(',') });
      outcomes.push(await runFilesApart(files, { ...options, readiness, environmentOf }));
    } else {
      const code = await runProgram(process.execPath, [...nodeTestArguments(options), ...files], { [DECLARED]: '' });
      outcomes.push({ passed: code === 0, failures: [] });
    }
  }
  return {
    passed: outcomes.every(({ passed }) => passed),
    failures: outcomes.flatMap(({ failures }) => failures),
  };
}

/** Starts the scripts that run before suites, each once, while other suites already run. */
function startPreparing(suites: readonly Suite[]): ReadonlyMap<string, Promise<number>> {
  const scripts = new Set(suites.flatMap(({ prepare = [] }) => prepare));
  const run = (script: string): Promise<number> =>
    runProgram('nice', ['-n', '10', process.execPath, '--disable-warning=ExperimentalWarning', script]);
  return new Map([...scripts].map((script) => [script, run(script)]));
}

/** Runs suites and files one after another; resolves to the exit code. */
async function main(names: readonly string[], signal: AbortSignal): Promise<number> {
  const chosen = runsOf(names);
  if (chosen === undefined) return 2;
  await setUp(
    chosen.flatMap(({ suite }) => suite.requires),
    signal,
  );
  const runs = chosen.map((run) => ({ ...run, lacks: lacksOf(run.suite.requires) }));
  const possible = runs.filter(({ lacks }) => lacks === '');
  const prepared = startPreparing(possible.map(({ suite }) => suite));
  const files = possible.flatMap(({ groups }) => groups.flat());
  const needs = await needsOf(files);
  const wanted = new Set([...needs.values()].flat());
  const making = startMaking(TABLE.map(({ need }) => need).filter((need) => wanted.has(need)));
  const readiness = readinessOf(making, needs);
  let passed = true;
  const failures: string[] = [];
  for (const run of runs) {
    const { name, suite, lacks } = run;
    if (lacks !== '') {
      console.error(`suite ${name} NOT RUN: this machine lacks ${lacks}`);
      passed &&= process.env['CI'] === undefined;
      continue;
    }
    console.error(`suite ${name}`);
    const codes = await Promise.all((suite.prepare ?? []).map(async (script) => await prepared.get(script)));
    if (codes.some((code) => code !== 0)) {
      console.error(`suite ${name} NOT RUN: ${(suite.prepare ?? []).join(' ')} failed`);
      passed = false;
      continue;
    }
    const outcome = await runSuite(run, readiness, needs);
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
