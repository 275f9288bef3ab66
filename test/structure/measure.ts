import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { type Arrow, circlesOf } from './circles.ts';
import { importsOf } from './imports.ts';
import { isUpward } from './layers.ts';

/** How the source of a checkout is built, beside what the lint rules hold. Paths are from the root of the checkout. */
export interface Structure {
  /** The files of the folder of src that has most files directly in it. */
  readonly largestFolder: readonly string[];
  /** Groups of folders that import each other, types included. Files directly in src stand alone. */
  readonly folderCircles: readonly (readonly string[])[];
  /** Imports that run against the order of the layers, type imports included. */
  readonly upward: readonly Arrow[];
  /** Files of src/agent with code that no file below test/unit imports directly. Files with types alone do not count. */
  readonly untestedAgentFiles: readonly string[];
}

/** Measures the checkout of this project below `root`. */
export async function measureStructure(root: string): Promise<Structure> {
  const files = sourcesBelow(root, 'src');
  const imports = (await relativeImports(root, files)).filter(([, to]) => to.startsWith('src/'));
  const folders = [...Map.groupBy(files, (file) => path.dirname(file)).values()];
  const between = imports.map(([from, to]): Arrow => [folderOf(from), folderOf(to)]);
  return {
    largestFolder: folders.toSorted((a, b) => b.length - a.length)[0] ?? [],
    folderCircles: circlesOf(between.filter(([from, to]) => from !== to)),
    upward: imports.filter(([from, to]) => isUpward(path.relative('src', from), path.relative('src', to))),
    untestedAgentFiles: await untested(
      root,
      files.filter((file) => file.startsWith('src/agent/')),
    ),
  };
}

function sourcesBelow(root: string, folder: string): readonly string[] {
  return globSync(`${folder}/**/*.ts`, { cwd: root }).toSorted();
}

/** The imports of these files, all paths from the root. */
async function relativeImports(root: string, files: readonly string[]): Promise<readonly Arrow[]> {
  const imports = await importsOf(files.map((file) => path.join(root, file)));
  return imports.map(({ from, to }): Arrow => [path.relative(root, from), path.relative(root, to)]);
}

function folderOf(file: string): string {
  const folder = path.dirname(file);
  return folder === 'src' ? file : folder;
}

async function untested(root: string, files: readonly string[]): Promise<readonly string[]> {
  const tested = new Set((await relativeImports(root, sourcesBelow(root, 'test/unit'))).map(([, to]) => to));
  const texts = await Promise.all(
    files.map(async (file) => [file, await readFile(path.join(root, file), 'utf8')] as const),
  );
  return texts.filter(([file, text]) => !tested.has(file) && hasCode(text)).map(([file]) => file);
}

/** Whether a file has anything that is left at run time. */
function hasCode(text: string): boolean {
  return /^(?:export )?(?:async )?(?:function|const|class)\b/m.test(text);
}
