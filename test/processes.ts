/** How test files run: in one runner of node:test, or each in a process namespace of its own. */
import { spawn } from 'node:child_process';
import process from 'node:process';

export interface RunOptions {
  /** Whether each file has a process namespace, whose processes all end with it. */
  readonly inNamespaces?: boolean;
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly reporter: string;
}

/** Whether a file may begin, or what it lacks for ever. */
export type FileState = { readonly kind: 'ready' | 'waits' } | { readonly kind: 'lacks'; readonly what: string };

/** Which files may begin. */
export interface Readiness {
  of(file: string): FileState;
  /** Resolves when one of the states has changed. */
  changed(): Promise<void>;
}

/** How files run that each have a process. */
export interface ApartOptions extends RunOptions {
  readonly readiness: Readiness;
  /** Environment variables of the process of a file. */
  environmentOf(file: string): Readonly<Record<string, string>>;
}

/** The arguments of Node.js before the test files. */
export function nodeTestArguments({ concurrency, timeoutMs, reporter }: RunOptions): readonly string[] {
  const limits = [`--test-concurrency=${concurrency}`, `--test-timeout=${timeoutMs}`, `--test-reporter=${reporter}`];
  return ['--disable-warning=ExperimentalWarning', '--test', ...limits];
}

/** Runs a program with this terminal and resolves to its exit code; a program that a signal ended has the code 1. */
export function runProgram(
  program: string,
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Promise<number> {
  const child = spawn(program, args, {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...variables },
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code) => {
      resolve(code ?? 1);
    });
  });
}

interface FileResult {
  readonly file: string;
  readonly passed: boolean;
  readonly seconds: number;
  /** What the file printed; its last lines name the tests that failed. */
  readonly output: string;
}

export interface FilesOutcome {
  readonly passed: boolean;
  /** One text for each file that failed, also for one that passed when it ran again; a caller prints them at its end. */
  readonly failures: readonly string[];
}

/** With more failed files than this, the change or the machine is at fault and nothing runs again. */
const MAX_FILES_AGAIN = 2;
const FAILURE_LINES = 60;

/** Process 1 of the namespace has to be a shell: it waits for the orphans of killed programs, which Node.js does not. */
const FIRST_PROCESS = ['sh', '-c', '"$@"; exit $?', 'sh'];
const NAMESPACE = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc', '--', ...FIRST_PROCESS];

/** Runs a file in a process of its own; prints what it printed when it is over. */
async function runFileApart(file: string, options: ApartOptions): Promise<FileResult> {
  const state = options.readiness.of(file);
  if (state.kind === 'lacks') return { file, passed: false, seconds: 0, output: `${state.what} could not be made` };
  const beganAt = performance.now();
  const node = [process.execPath, ...nodeTestArguments(options), file];
  const command = options.inNamespaces === true ? [...NAMESPACE, ...node] : node;
  console.log(`--- ${file}: runs`);
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', ...command], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...options.environmentOf(file) },
  });
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => output.push(chunk));
  const passed = await new Promise<boolean>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      resolve(code === 0);
    });
  });
  const seconds = Math.round((performance.now() - beganAt) / 1_000);
  process.stdout.write(`--- ${file}: ${passed ? 'passed' : 'FAILED'} after ${seconds} s\n`);
  process.stdout.write(Buffer.concat(output));
  return { file, passed, seconds, output: Buffer.concat(output).toString() };
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

/** Runs the files, `concurrency` at a time in their order; one that waits for what it needs lets the next one pass. */
async function runInOrder(files: readonly string[], options: ApartOptions): Promise<readonly FileResult[]> {
  const waiting = [...files];
  const results: FileResult[] = [];
  const work = async (): Promise<void> => {
    const take = (): Promise<string | undefined> => takeReady(waiting, options.readiness);
    for (let file = await take(); file !== undefined; file = await take()) {
      results.push(await runFileApart(file, { ...options, concurrency: 1 }));
    }
  };
  await Promise.all(Array.from({ length: options.concurrency }, work));
  return results;
}

function describeFailure({ file, output }: FileResult, again: FileResult | undefined): string {
  const title = again?.passed === true ? 'FAILED, THEN PASSED WHEN IT RAN ALONE' : 'FAILED';
  const lines = (again?.passed === false ? again.output : output).trimEnd().split('\n');
  return [`${title}: ${file}`, ...lines.slice(-FAILURE_LINES)].join('\n');
}

/**
 * Runs the files, `concurrency` at a time in their order, each in a process of its own. The files share the processors, and
 * real parts have time-outs: where at most two fail, each of these runs once more, alone, and counts as failed when it
 * fails again. Both runs are told.
 */
export async function runFilesApart(files: readonly string[], options: ApartOptions): Promise<FilesOutcome> {
  const results = await runInOrder(files, options);
  const slowest = results.toSorted((a, b) => b.seconds - a.seconds);
  console.log(
    ['seconds  file', ...slowest.map(({ file, seconds }) => `${String(seconds).padStart(7)}  ${file}`)].join('\n'),
  );
  const failed = results.filter(({ passed }) => !passed);
  const runAgain = failed.length <= MAX_FILES_AGAIN ? failed.map(({ file }) => file) : [];
  const again = await runInOrder(runAgain, { ...options, concurrency: 1 });
  const failures = failed.map((first) => {
    return { first, second: again.find(({ file }) => file === first.file) };
  });
  return {
    passed: failures.every(({ second }) => second?.passed === true),
    failures: failures.map(({ first, second }) => describeFailure(first, second)),
  };
}
