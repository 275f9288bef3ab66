/** What test files need, by what they import. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { importsOf } from '../structure/imports.ts';
import type { Need } from './declared.ts';
import { TABLE } from './table.ts';

const ROOT = path.join(import.meta.dirname, '..', '..');
/** A script that a test runs as a program of its own. */
const SCRIPT = /'(?<script>\.ci\/[\w-]+\.ts)'/g;

/** The files of the project that a file imports or runs, itself included; paths are from the checkout. */
type Closure = (file: string) => ReadonlySet<string>;

async function nextOf(file: string): Promise<readonly string[]> {
  const imports = await importsOf([path.join(ROOT, file)]);
  const scripts = (await readFile(path.join(ROOT, file), 'utf8')).matchAll(SCRIPT);
  return [
    ...imports.filter(({ to, typeOnly }) => !typeOnly && to.endsWith('.ts')).map(({ to }) => path.relative(ROOT, to)),
    ...[...scripts].map(({ groups }) => groups?.['script'] ?? ''),
  ];
}

/** Reads all that these files import. */
async function readClosures(files: readonly string[]): Promise<Closure> {
  const next = new Map<string, readonly string[]>();
  for (let unread = files; unread.length > 0; ) {
    const found = await Promise.all(unread.map(nextOf));
    for (const [index, file] of unread.entries()) next.set(file, found[index] ?? []);
    unread = [...new Set(found.flat())].filter((file) => !next.has(file));
  }
  return (file) => {
    const found = new Set([file]);
    // A set gives also what is added to it meanwhile.
    for (const each of found) for (const to of next.get(each) ?? []) found.add(to);
    return found;
  };
}

/** What each of these files, such as `test/e2e/fleet.test.ts`, needs, in the order in which it is made. */
export async function needsOf(files: readonly string[]): Promise<ReadonlyMap<string, readonly Need[]>> {
  const closureOf = await readClosures(files);
  return new Map(
    files.map((file) => {
      const closure = closureOf(file);
      return [file, TABLE.filter(({ module }) => closure.has(module)).map(({ need }) => need)];
    }),
  );
}
