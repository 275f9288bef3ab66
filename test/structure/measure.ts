import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { type Arrow, circlesOf } from './circles.ts';
import { type FunctionFacts, measureFunctions } from './functions.ts';
import { type Import, importsOf } from './imports.ts';
import { isUpward } from './layers.ts';
import { countLines, type InterfaceSize, interfacesIn, type Lines } from './source.ts';

/** How the source of a checkout is built. Paths are from the root of the checkout. */
export interface Structure extends FunctionFacts {
  readonly files: number;
  /** Files directly in each folder of src, the largest folder first. */
  readonly folders: readonly { readonly folder: string; readonly files: number }[];
  readonly lines: Lines;
  /** Groups of files that import each other. */
  readonly circles: Circles;
  /** The same between folders: an import between files of two folders is an arrow. Files directly in src stand alone. */
  readonly folderCircles: Circles;
  /** Imports that run against the order of the layers, type imports included. */
  readonly upward: readonly Arrow[];
  /** The widest interface of src/agent whose name ends in "Context"; no members where there is none. */
  readonly agentContext: InterfaceSize;
  /** The widest interface of src/agent. */
  readonly widestInAgent: InterfaceSize;
  readonly agentFiles: number;
  /** Files of src/agent with code that no file below test/unit imports directly. Files with types alone do not count. */
  readonly untestedAgentFiles: readonly string[];
}

export interface Circles {
  readonly withTypes: readonly (readonly string[])[];
  readonly withoutTypes: readonly (readonly string[])[];
}

/** Measures the checkout of this project below `root`. */
export async function measureStructure(root: string): Promise<Structure> {
  const files = sourcesBelow(root, 'src');
  const texts = new Map(await Promise.all(files.map(async (file) => [file, await read(root, file)] as const)));
  const imports = (await relativeImports(root, files)).filter(({ to }) => to.startsWith('src/'));
  const agentTexts = [...texts].filter(([file]) => file.startsWith('src/agent/'));
  const interfaces = agentTexts.flatMap(([, text]) => interfacesIn(text));
  return {
    files: files.length,
    folders: foldersOf(files),
    lines: sumOf([...texts.values()].map(countLines)),
    circles: circles(imports, (file) => file),
    folderCircles: circles(imports, folderOf),
    upward: imports.map(({ from, to }): Arrow => [from, to]).filter(([from, to]) => isUpward(inSrc(from), inSrc(to))),
    agentContext: widest(interfaces.filter(({ name }) => name.endsWith('Context'))),
    widestInAgent: widest(interfaces),
    agentFiles: agentTexts.length,
    untestedAgentFiles: await untested(root, agentTexts),
    ...(await measureFunctions(root)),
  };
}

function sourcesBelow(root: string, folder: string): readonly string[] {
  return globSync(`${folder}/**/*.ts`, { cwd: root }).toSorted();
}

function read(root: string, file: string): Promise<string> {
  return readFile(path.join(root, file), 'utf8');
}

/** The imports of these files, all paths from the root. */
async function relativeImports(root: string, files: readonly string[]): Promise<readonly Import[]> {
  const imports = await importsOf(files.map((file) => path.join(root, file)));
  return imports.map(({ from, to, typeOnly }) => ({
    from: path.relative(root, from),
    to: path.relative(root, to),
    typeOnly,
  }));
}

function inSrc(file: string): string {
  return path.relative('src', file);
}

function foldersOf(files: readonly string[]): Structure['folders'] {
  const groups = Map.groupBy(files, (file) => path.dirname(file));
  return [...groups]
    .map(([folder, members]) => ({ folder, files: members.length }))
    .toSorted((a, b) => b.files - a.files || a.folder.localeCompare(b.folder));
}

function sumOf(counts: readonly Lines[]): Lines {
  const total = (kind: keyof Lines): number => counts.reduce((sum, lines) => sum + lines[kind], 0);
  return { code: total('code'), comments: total('comments'), blank: total('blank') };
}

function folderOf(file: string): string {
  const folder = path.dirname(file);
  return folder === 'src' ? file : folder;
}

/** The circles among what `nameOf` makes of files. */
function circles(imports: readonly Import[], nameOf: (file: string) => string): Circles {
  const arrows = (chosen: readonly Import[]): readonly Arrow[] =>
    chosen.map(({ from, to }): Arrow => [nameOf(from), nameOf(to)]).filter(([from, to]) => from !== to);
  return {
    withTypes: circlesOf(arrows(imports)),
    withoutTypes: circlesOf(arrows(imports.filter(({ typeOnly }) => !typeOnly))),
  };
}

function widest(interfaces: readonly InterfaceSize[]): InterfaceSize {
  return interfaces.reduce((most, next) => (next.members > most.members ? next : most), { name: '', members: 0 });
}

async function untested(root: string, agentTexts: readonly (readonly [string, string])[]): Promise<readonly string[]> {
  const imports = await relativeImports(root, sourcesBelow(root, 'test/unit'));
  const tested = new Set(imports.map(({ to }) => to));
  return agentTexts.filter(([file, text]) => !tested.has(file) && hasCode(text)).map(([file]) => file);
}

/** Whether a file has anything that is left at run time. */
function hasCode(text: string): boolean {
  return /^(?:export )?(?:async )?(?:function|const|class)\b/m.test(text);
}
