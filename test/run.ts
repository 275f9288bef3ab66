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
import { removeLeftCgroupRoots } from './node/containerd.ts';
import { type Making, startMaking } from './needs/making.ts';
import { needsOf } from './needs/imports.ts';
import { TABLE } from './needs/table.ts';
import { type FilesOutcome, nodeTestArguments, type Readiness, runFilesApart } from './files.ts';
import { type Cost, HAS_NAMESPACES, runCommand, takeLock } from './processes.ts';
import { lacksOf } from './requirements.ts';
import { setUp } from './set-up.ts';
import { planOf, type Suite, SUITES } from './suites.ts';
import { BUNDLE, PROGRAM_VARIABLE } from './support/commands/program.ts';
import { IS_THOROUGH } from './support/thorough.ts';

/** A suite that is to run, or some files of it. */
interface Run {
  readonly name: string;
  readonly suite: Suite;
  /** Those that run together, and those that run after them. */
  readonly groups: readonly [readonly string[], readonly string[]];
}

const REPORTER = process.stdout.isTTY ? 'spec' : (process.env['TEST_REPORTER'] ?? 'spec');

/** What is to run, by the names of suites and the paths of files; says which name there is not, and is undefined then. */
function runsOf(names: readonly string[]): readonly Run[] | undefined {
  const runs: Run[] = [];
  const left = new Set(names);
  for (const [name, suite] of Object.entries(SUITES)) {
    const isWhole = names.includes(name);
    // A file that is asked for by its path runs, whatever the suite leaves out.
    const { leftOut, groups: all } = planOf(name, suite, IS_THOROUGH || !isWhole);
    const chosen = (files: readonly string[]): readonly string[] => files.filter((file) => isWhole || left.has(file));
    const groups = [chosen(all[0]), chosen(all[1])] as const;
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

/** Runs suites whose files run in one runner, which prints its failures itself: one that only waits fills the time of another. */
async function runQuick(runs: readonly Run[]): Promise<FilesOutcome> {
  const costs: (Cost & { readonly file: string })[] = [];
  const name = runs.map((run) => run.name).join(', ');
  const suites = runs.map(({ suite }) => suite);
  const timeoutMs = Math.max(...suites.map((suite) => suite.timeoutMs));
  let passed = true;
  for (const index of [0, 1] as const) {
    const files = runs.toReversed().flatMap(({ groups }) => groups[index]);
    if (files.length === 0) continue;
    const concurrency = index === 0 ? Math.max(...suites.map((suite) => suite.concurrency)) : 1;
    const limits = nodeTestArguments(concurrency, timeoutMs, REPORTER);
    const words = [process.execPath, ...limits, ...files];
    const ended = await runCommand({ words, variables: { [DECLARED]: '' }, inNamespace: HAS_NAMESPACES });
    passed &&= ended.passed;
    costs.push({ file: `suite ${name}, ${files.length} files`, wallSec: ended.wallSec, cpuSec: ended.cpuSec });
  }
  return { passed, failures: [], again: [], costs };
}

/** Runs suites on real parts, as one: a file of one suite fills the time in which those of another wait. */
async function runReal(runs: readonly Run[], readiness: Readiness, needs: Needs): Promise<FilesOutcome> {
  // They would share the processors with those of another run.
  using _lock = await takeLock('tests');
  await removeLeftCgroupRoots();
  const program = { [PROGRAM_VARIABLE]: BUNDLE };
  const concurrency = Math.max(...runs.map(({ suite }) => suite.concurrency));
  const suiteOf = (file: string): Suite | undefined => runs.find(({ groups }) => groups.flat().includes(file))?.suite;
  return await runFilesApart(
    [
      { files: runs.flatMap(({ groups }) => groups[0]), concurrency, most: 2 * concurrency },
      { files: runs.flatMap(({ groups }) => groups[1]), concurrency: Math.max(1, concurrency - 1) },
    ],
    {
      reporter: REPORTER,
      inNamespace: HAS_NAMESPACES,
      readiness,
      timeoutMsOf: (file) => suiteOf(file)?.timeoutMs ?? 0,
      environmentOf: (file) => ({ ...program, [DECLARED]: (needs.get(file) ?? []).join(',') }),
    },
  );
}

/** Runs the scripts that run before suites, each once; resolves to those that failed, with what was to run after them. */
async function prepare(suites: readonly Suite[]): Promise<readonly string[]> {
  const scripts = [...new Set(suites.flatMap(({ prepare: own = [] }) => own))];
  for (const [index, script] of scripts.entries()) {
    const words = ['nice', process.execPath, '--disable-warning=ExperimentalWarning', script];
    if (!(await runCommand({ words })).passed) return scripts.slice(index);
  }
  return [];
}

const MOST_EXPENSIVE = 20;

/** What a person wants to know of a run at its end: the output of all suites is long. */
function report({ failures, again, costs }: FilesOutcome): string {
  const rows = costs.toSorted((a, b) => b.cpuSec - a.cpuSec).slice(0, MOST_EXPENSIVE);
  const number = (value: number): string => value.toFixed(0).padStart(8);
  const total = costs.reduce((sum, { cpuSec }) => sum + cpuSec, 0);
  return [
    ...failures.map((failure) => `\n=== ${failure}`),
    `\n${costs.length} files, suites and needs took ${total.toFixed(0)} s of the processors; the most expensive:`,
    ' seconds  cpu sec',
    ...rows.map(({ wallSec, cpuSec, file }) => `${number(wallSec)} ${number(cpuSec)}  ${file}`),
    `second try: ${again.length === 0 ? 'none' : `${again.length}: ${again.join(', ')}`}`,
  ].join('\n');
}

/** Runs suites and files: those that need nothing one after the other, then those on real parts; resolves to the exit code. */
async function main(names: readonly string[], signal: AbortSignal): Promise<number> {
  const chosen = runsOf(names);
  if (chosen === undefined) return 2;
  await setUp(
    chosen.flatMap(({ suite }) => suite.requires),
    signal,
  );
  const able = chosen.filter(({ name, suite }) => {
    const lacks = lacksOf(suite.requires);
    if (lacks !== '') console.error(`suite ${name} NOT RUN: this machine lacks ${lacks}`);
    return lacks === '';
  });
  const prepared = prepare(able.map(({ suite }) => suite));
  const files = able.filter(({ suite }) => suite.apart === true).flatMap(({ groups }) => groups.flat());
  const needs = await needsOf(files);
  const wanted = new Set([...needs.values()].flat());
  const making = startMaking(TABLE.map(({ need }) => need).filter((need) => wanted.has(need)));
  const outcomes: FilesOutcome[] = [];
  const quick = able.filter(({ suite }) => suite.apart !== true);
  if (quick.length > 0) {
    console.error(quick.map(({ name }) => `suite ${name}`).join(', '));
    outcomes.push(await runQuick(quick));
  }
  const runs = able.filter(({ suite }) => suite.apart === true);
  const unprepared = await prepared;
  if (unprepared.length > 0) {
    console.error(`suites on real parts NOT RUN: ${unprepared[0]} failed`);
  } else if (runs.length > 0) {
    console.error(runs.map(({ name }) => `suite ${name}`).join(', '));
    outcomes.push(await runReal(runs, readinessOf(making, needs), needs));
  }
  console.log(
    report({
      passed: true,
      failures: outcomes.flatMap(({ failures }) => failures),
      again: outcomes.flatMap(({ again }) => again),
      costs: [...making.costs, ...outcomes.flatMap(({ costs }) => costs)],
    }),
  );
  const isWhole = able.length === chosen.length || process.env['CI'] === undefined;
  return isWhole && unprepared.length === 0 && outcomes.every(({ passed }) => passed) ? 0 : 1;
}

// Each program of each test compiles the same source: with a cache that takes a third of the time.
const compileCache = mkdtempSync(path.join(tmpdir(), 'nodemaint-compile-cache-'));
process.env['NODE_COMPILE_CACHE'] ??= compileCache;
try {
  process.exitCode = await main(process.argv.slice(2), new AbortController().signal);
} finally {
  rmSync(compileCache, { recursive: true, force: true });
}
