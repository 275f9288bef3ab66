/** Measures functions with oxlint, which reports the length and the parameters of each function above a limit. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

const OXLINT = path.join(import.meta.dirname, '..', '..', 'node_modules', '.bin', 'oxlint');
export const MAX_FUNCTION_LINES = 80;
export const MAX_PARAMETERS = 4;

export interface LongFunction {
  /** From the root of the checkout. */
  readonly file: string;
  readonly line: number;
  /** As the linter names it; "arrow function" and the like where it has no name. */
  readonly name: string;
  /** Lines from the signature to the closing brace, or parameters. */
  readonly count: number;
  /** Whether another function contains it. */
  readonly nested: boolean;
}

export interface FunctionFacts {
  readonly functions: number;
  /** Lines with code, comments and blanks counted; a nested function counts by itself and in the one that contains it. */
  readonly long: readonly LongFunction[];
  readonly manyParameters: readonly LongFunction[];
}

interface Diagnostic {
  readonly message: string;
  readonly code: string;
  readonly filename: string;
  readonly labels: readonly [
    { readonly span: { readonly offset: number; readonly length: number; readonly line: number } },
  ];
}

/** Measures every function below src of a checkout. */
export async function measureFunctions(root: string): Promise<FunctionFacts> {
  const diagnostics = await lint(root, { 'max-lines-per-function': ['error', 0], 'max-params': ['error', 0] });
  const bodies = diagnostics.filter(({ code }) => code.includes('max-lines-per-function'));
  const parameters = diagnostics.filter(({ code }) => code.includes('max-params'));
  const over = (found: readonly Diagnostic[], limit: number): readonly LongFunction[] =>
    found
      .map((diagnostic) => toFunction(diagnostic, bodies))
      .filter(({ count }) => count > limit)
      .toSorted((a, b) => b.count - a.count || a.file.localeCompare(b.file));
  return {
    functions: bodies.length,
    long: over(bodies, MAX_FUNCTION_LINES),
    manyParameters: over(parameters, MAX_PARAMETERS),
  };
}

function toFunction(diagnostic: Diagnostic, bodies: readonly Diagnostic[]): LongFunction {
  const { message, filename: file, labels } = diagnostic;
  const { span } = labels[0];
  const nested = bodies.some(({ filename, labels: [{ span: outer }] }) => {
    const contains = outer.offset < span.offset && outer.offset + outer.length >= span.offset + span.length;
    return filename === file && contains && outer.line < span.line;
  });
  const name = /[`']([^`']+)[`']/.exec(message)?.[1] ?? 'a function without a name';
  return { file, line: span.line, name, count: Number(/\((\d+)\)/.exec(message)?.[1]), nested };
}

async function lint(root: string, rules: Readonly<Record<string, unknown>>): Promise<readonly Diagnostic[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-structure-'));
  try {
    const config = path.join(folder, 'oxlintrc.json');
    await writeFile(config, JSON.stringify({ plugins: [], categories: { correctness: 'off' }, rules }));
    const output = await run(OXLINT, ['-c', config, '-f', 'json', 'src'], root);
    return (JSON.parse(output) as { readonly diagnostics: readonly Diagnostic[] }).diagnostics;
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Runs a program that exits with an error code if it finds something; returns what it prints. */
async function run(program: string, args: readonly string[], cwd: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  execFile(program, args, { cwd, maxBuffer: 64 * 1024 * 1024 }, (error, stdout) => {
    if (stdout === '') reject(error ?? new Error(`${program} printed nothing`));
    else resolve(stdout);
  });
  return promise;
}
