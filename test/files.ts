/** Test files that each run in a process of their own, some at a time. */
import { readFileSync } from 'node:fs';
import { freemem } from 'node:os';
import process from 'node:process';
import { type Cost, runCommand } from './processes.ts';

/** Whether a file may begin, or what it lacks for ever. */
export type FileState = { readonly kind: 'ready' | 'waits' } | { readonly kind: 'lacks'; readonly what: string };

/** Which files may begin. */
export interface Readiness {
  of(file: string): FileState;
  /** Resolves when one of the states has changed. */
  changed(): Promise<void>;
}

/** How files run. */
export interface FileOptions {
  readonly reporter: string;
  /** Whether it has a process namespace, whose processes all end with it. */
  readonly inNamespace: boolean;
  readonly readiness: Readiness;
  /** The time for the file, and for each of its tests. */
  timeoutMsOf(file: string): number;
  /** Environment variables of its process. */
  environmentOf(file: string): Readonly<Record<string, string>>;
}

/** The arguments of Node.js before test files that run in one runner. */
export function nodeTestArguments(concurrency: number, timeoutMs: number, reporter: string): readonly string[] {
  const limits = [`--test-concurrency=${concurrency}`, `--test-timeout=${timeoutMs}`, `--test-reporter=${reporter}`];
  return ['--disable-warning=ExperimentalWarning', '--test', ...limits];
}

interface FileResult extends Cost {
  readonly file: string;
  readonly passed: boolean;
  /** What the file printed; its last lines name the tests that failed. */
  readonly output: string;
}

/** What became of some files. */
export interface FilesOutcome {
  readonly passed: boolean;
  /** One text for each file that failed, also for one that passed when it ran again; a caller prints them at its end. */
  readonly failures: readonly string[];
  /** The files that passed at the second try. */
  readonly again: readonly string[];
  readonly costs: readonly (Cost & { readonly file: string })[];
}

/** With more failed files than this, the change or the machine is at fault and nothing runs again. */
const MAX_FILES_AGAIN = 2;
const FAILURE_LINES = 60;
const BUSY_PERCENT = 50;
const ENOUGH_MEMORY = 4 * 1024 ** 3;
/** Longer than a file takes to become busy. */
const LOOK_MS = 10_000;

/** Runs a file in a process of its own; prints what it printed when it is over. */
async function runFile(file: string, options: FileOptions): Promise<FileResult> {
  const state = options.readiness.of(file);
  if (state.kind === 'lacks')
    return { file, passed: false, wallSec: 0, cpuSec: 0, output: `${state.what} could not be made` };
  console.log(`--- ${file}: runs`);
  const limitMs = options.timeoutMsOf(file);
  // Waits that are in vain last long on a busy machine, and a file may have many.
  const limit = ['timeout', '--kill-after=30', String(limitMs / 1_000)];
  const ended = await runCommand({
    words: [...limit, process.execPath, ...nodeTestArguments(1, limitMs, options.reporter), file],
    variables: options.environmentOf(file),
    keepsOutput: true,
    inNamespace: options.inNamespace,
  });
  const { passed, wallSec, cpuSec, output } = ended;
  const cost = `${Math.round(wallSec)} s, ${Math.round(cpuSec)} s of a processor`;
  process.stdout.write(`--- ${file}: ${passed ? 'passed' : 'FAILED'} after ${cost}\n`);
  process.stdout.write(output);
  return { file, passed, wallSec, cpuSec, output };
}

/** Files that run so many at a time. */
export interface FileGroup {
  readonly files: readonly string[];
  readonly concurrency: number;
  /** How many run at most where processors are idle; no more than that number unless given. */
  readonly most?: number;
}

/** Takes the first of the files that need not wait any more; undefined when none is left. */
async function takeReady(waiting: string[], readiness: Readiness): Promise<string | undefined> {
  for (;;) {
    const index = waiting.findIndex((file) => readiness.of(file).kind !== 'waits');
    if (index >= 0 || waiting.length === 0) return waiting.splice(index, 1)[0];
    console.log(`--- ${waiting.length} files wait for what they need`);
    await readiness.changed();
  }
}

/**
 * Whether the machine has room for one more file: the share of the last ten seconds in which some program waited for a processor
 * is small, and a control plane finds its memory.
 */
function hasRoom(): boolean {
  if (freemem() < ENOUGH_MEMORY) return false;
  try {
    const [, percent = '100'] = /^some avg10=([\d.]+)/.exec(readFileSync('/proc/pressure/cpu', 'utf8')) ?? [];
    return Number(percent) < BUSY_PERCENT;
  } catch {
    // Not every kernel measures it.
    return false;
  }
}

/**
 * Runs the files, `concurrency` at a time in their order; one that waits for what it needs lets the next one pass. Many a test
 * only waits: where that leaves processors idle, more files run.
 */
async function runInOrder(
  files: readonly string[],
  { concurrency, most = concurrency }: Omit<FileGroup, 'files'>,
  options: FileOptions,
): Promise<readonly FileResult[]> {
  const waiting = [...files];
  const results: FileResult[] = [];
  const work = async (): Promise<void> => {
    const take = (): Promise<string | undefined> => takeReady(waiting, options.readiness);
    for (let file = await take(); file !== undefined; file = await take()) results.push(await runFile(file, options));
  };
  const helpers = new Set<Promise<void>>();
  const help = async (): Promise<void> => {
    const file = waiting.splice(
      waiting.findIndex((each) => options.readiness.of(each).kind === 'ready'),
      1,
    )[0];
    if (file !== undefined) results.push(await runFile(file, options));
  };
  const looking = setInterval(() => {
    const isAnyReady = waiting.some((each) => options.readiness.of(each).kind === 'ready');
    if (!isAnyReady || concurrency + helpers.size >= most || !hasRoom()) return;
    const helper = help().finally(() => helpers.delete(helper));
    helpers.add(helper);
  }, LOOK_MS);
  await Promise.all(Array.from({ length: concurrency }, work));
  clearInterval(looking);
  await Promise.all(helpers);
  return results;
}

function describeFailure({ file, output }: FileResult, again: FileResult | undefined): string {
  const title = again?.passed === true ? 'FAILED, THEN PASSED WHEN IT RAN ALONE' : 'FAILED';
  const lines = (again?.passed === false ? again.output : output).trimEnd().split('\n');
  return [`${title}: ${file}`, ...lines.slice(-FAILURE_LINES)].join('\n');
}

/**
 * Runs groups of files one after the other, each file in a process of its own. The files share the processors, and real parts
 * have time-outs: where at most two fail, each of these runs once more, alone, and counts as failed when it fails again. Both
 * runs are told.
 */
export async function runFilesApart(groups: readonly FileGroup[], options: FileOptions): Promise<FilesOutcome> {
  const results: FileResult[] = [];
  for (const { files, ...width } of groups) results.push(...(await runInOrder(files, width, options)));
  const failed = results.filter(({ passed }) => !passed);
  const runAgain = failed.length <= MAX_FILES_AGAIN ? failed.map(({ file }) => file) : [];
  const again = await runInOrder(runAgain, { concurrency: 1 }, options);
  const failures = failed.map((first) => ({ first, second: again.find(({ file }) => file === first.file) }));
  return {
    passed: failures.every(({ second }) => second?.passed === true),
    failures: failures.map(({ first, second }) => describeFailure(first, second)),
    again: again.filter(({ passed }) => passed).map(({ file }) => file),
    costs: results,
  };
}
