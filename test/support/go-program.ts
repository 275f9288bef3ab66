import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { access, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { assertDeclared } from '../needs/declared.ts';

/** Whether there is a program of this path. */
export async function isProgram(file: string): Promise<boolean> {
  return await access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** The folder in which what was built for tests is kept under `name`. */
export function cacheFolder(name: string): string {
  return path.join(process.env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache'), 'nodemaint', name);
}

/** What is built: packages of the go.mod in the folder `module`. */
export interface GoBuild {
  readonly module: string;
  /** All of its tools unless given. */
  readonly packages?: readonly string[];
  /** For the linker. */
  readonly ldflags: string;
  /** Build tags, with commas between them. */
  readonly tags?: string;
  /** The file or, with a slash at its end, the folder to build into. */
  readonly into: string;
  /** A lock of this name is held meanwhile. Nothing is built where this program is there once it is held. */
  readonly unless: { readonly lock: string; readonly program: string };
}

/** Builds Go programs. One process builds at a time, and a second one finds what the first one built. */
export async function buildGo(
  { module, packages = ['tool'], ldflags, tags = '', into, unless }: GoBuild,
  signal: AbortSignal,
): Promise<void> {
  const go = (await isProgram('/usr/local/go/bin/go')) ? '/usr/local/go/bin/go' : 'go';
  // The compiler takes a third less processor time without debug information, and as much less with more memory.
  const flags = [
    '-buildvcs=false',
    '-trimpath',
    `-tags=${tags}`,
    `-ldflags=-s -w ${ldflags}`,
    '-gcflags=all=-dwarf=false',
  ];
  const unlessBuilt = ['sh', '-c', 'test -x "$0" || exec "$@"', unless.program];
  // The Go of a distribution is older than some modules ask for, and is often set not to fetch the one that they ask for.
  const env = { ...process.env, GOGC: '400', GOTOOLCHAIN: 'auto' };
  const options = { cwd: module, signal, env, maxBuffer: 64 * 1024 * 1024 };
  const args = [unless.lock, ...unlessBuilt, go, 'build', ...flags, '-o', into, ...packages];
  await promisify(execFile)('flock', args, options).catch((error: unknown) => {
    throw new Error(`building the tools of ${module} with ${go}`, { cause: error });
  });
}

/** The go.mod of a program, and what the linker writes into it. */
export interface LinkedProgram {
  readonly module: string;
  readonly ldflags: string;
}

/**
 * The path of the one program that the go.mod in the folder `module` has as its tool. It is built once and kept under `name`,
 * by what it was built from.
 */
export async function goProgram(name: string, module: string, signal: AbortSignal): Promise<string> {
  return await linkedGoProgram(name, { module, ldflags: '' }, signal);
}

/** The same, of a program into which the linker writes something. */
export async function linkedGoProgram(
  name: string,
  { module, ldflags }: LinkedProgram,
  signal: AbortSignal,
): Promise<string> {
  assertDeclared(name);
  const hash = createHash('sha256').update(ldflags);
  for (const file of ['go.mod', 'go.sum']) hash.update(await readFile(path.join(module, file)));
  const folder = cacheFolder(name);
  const program = path.join(folder, hash.digest('hex').slice(0, 16));
  if (await isProgram(program)) return program;

  process.stderr.write(`building ${name} from its Go module; some minutes, once\n`);
  await mkdir(folder, { recursive: true });
  const temporary = await mkdtemp(`${program}.`);
  try {
    const into = path.join(temporary, name);
    await buildGo({ module, ldflags, into, unless: { lock: `${program}.lock`, program } }, signal);
    // Whole or not at all.
    if (!(await isProgram(program))) await rename(into, program);
    return program;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}
