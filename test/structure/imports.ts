import { readFile } from 'node:fs/promises';
import path from 'node:path';

/** One import of a file by another. Both are absolute paths. */
export interface Import {
  readonly from: string;
  readonly to: string;
  /** Whether only types are imported, which leaves nothing at run time. */
  readonly typeOnly: boolean;
}

/** Statements begin a line, because the formatter puts them there. */
const STATEMENT =
  /^(?:import|export)\s(?!(?:const|function|class|async|interface|abstract|enum)\b)[^;'"]*?['"]([^'"]+)['"]/gm;
const DYNAMIC = /\bimport\(\s*'(\.[^']+)'\s*\)/g;

/** The imports of other files of the project in these TypeScript files, dynamic imports and re-exports included. */
export async function importsOf(files: readonly string[]): Promise<readonly Import[]> {
  const lists = await Promise.all(files.map(async (file) => importsIn(file, await readFile(file, 'utf8'))));
  return lists.flat();
}

function importsIn(from: string, text: string): readonly Import[] {
  const statements = [...text.matchAll(STATEMENT)].map(([statement, name]) => ({
    name: name ?? '',
    typeOnly: isTypeOnly(statement),
  }));
  const dynamic = [...text.matchAll(DYNAMIC)].map(([, name]) => ({ name: name ?? '', typeOnly: false }));
  return [...statements, ...dynamic]
    .filter(({ name }) => name.startsWith('.'))
    .map(({ name, typeOnly }) => ({ from, to: path.resolve(path.dirname(from), name), typeOnly }));
}

/** An import of a package by a file of the checkout. */
export interface PackageImport {
  readonly from: string;
  readonly name: string;
}

const PACKAGE = /(?:\bfrom|\bimport\(|^import)\s*'((?:@[^/']+\/)?[^./'@][^/']*)(?:\/[^']*)?'/gm;

/** The packages that these files import, each once a file, types included; paths are from `root`. */
export async function importsOfPackages(root: string, files: readonly string[]): Promise<readonly PackageImport[]> {
  const lists = await Promise.all(
    files.map(async (from) => {
      const text = await readFile(path.join(root, from), 'utf8');
      const names = new Set([...text.matchAll(PACKAGE)].map(([, name = '']) => name));
      return [...names].filter((name) => !name.startsWith('node:')).map((name) => ({ from, name }));
    }),
  );
  return lists.flat();
}

/** Whether a statement is `import type`, or each name in its braces is marked `type`. */
function isTypeOnly(statement: string): boolean {
  if (/^(?:import|export) type\b/.test(statement)) return true;
  const names = /^(?:import|export) \{([^}]*)\}/.exec(statement)?.[1];
  if (names === undefined) return false;
  return names
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
    .every((name) => name.startsWith('type '));
}
