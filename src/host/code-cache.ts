/**
 * Loads a file of the program with the code that an earlier run of it has compiled. The cache of Node.js itself
 * (NODE_COMPILE_CACHE) has only the functions that are compiled at once; this one has all that the start has used.
 *
 * V8 runs the code as it is, and does not see that a disk has changed it. So it is used only for the very file that it was
 * compiled from, only where nobody else can have written it, and it lies under another name while a start tries it: a start
 * that crashes leaves none behind, and the next one compiles anew. Its hash is looked at when the start is over.
 */
import fs, { type BigIntStats } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { Script } from 'node:vm';
import { replaceFile } from './files/durable-file.ts';

/** After so long a start is over: its code is kept, and what was used is known to be sound. */
const STARTED_MS = 4_000;
/** A longer file is not the one that this program has written. */
const MAX_BYTES = 16 * 1024 * 1024;
/** The end of the file of code says what it was compiled from, and has the hash of the code. */
const ORIGIN_BYTES = 256;
const HASH_BYTES = 64;
const END_BYTES = ORIGIN_BYTES + HASH_BYTES;
const NAME = 'agent.code';
const PREFIX = '(function (exports, require, module, __filename, __dirname) {';
const SUFFIX = '\n})';

type Requires = (file: string) => unknown;
/** Gets what the names in `PREFIX` stand for. */
type Wrapper = (...scope: readonly unknown[]) => void;

interface Source {
  readonly text: string;
  /** Another file of this name, or another content, has another origin. */
  readonly origin: string;
}

function originOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [process.version, process.arch, dev, ino, size, mtimeNs, ctimeNs].join(' ').padEnd(ORIGIN_BYTES);
}

function readSource(file: string): Source {
  const handle = fs.openSync(file, 'r');
  try {
    const origin = originOf(fs.fstatSync(handle, { bigint: true }));
    return { text: fs.readFileSync(handle, 'utf8'), origin };
  } finally {
    fs.closeSync(handle);
  }
}

/** Only a file that nobody else could have written is code to run. */
function isOwn({ uid, mode, size }: fs.Stats): boolean {
  return uid === process.geteuid?.() && (mode & 0o022) === 0 && size > END_BYTES && size <= MAX_BYTES;
}

interface Code {
  readonly bytes: Buffer;
  readonly hash: string;
}

/** Loads the module of Node.js, which takes too long for the start. */
async function hashOf(bytes: Buffer): Promise<string> {
  return (await import('node:crypto')).hash('sha256', bytes, 'hex');
}

/** Takes the file of code away, and returns the code if it is of this source. */
function takeCode(file: string, tried: string, origin: string): Code | undefined {
  try {
    fs.renameSync(file, tried);
    const handle = fs.openSync(tried, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW);
    try {
      if (!isOwn(fs.fstatSync(handle))) return undefined;
      const all = fs.readFileSync(handle);
      const end = all.length - END_BYTES;
      if (all.toString('latin1', end, end + ORIGIN_BYTES) !== origin) return undefined;
      return { bytes: all.subarray(0, end), hash: all.toString('latin1', end + ORIGIN_BYTES) };
    } finally {
      fs.closeSync(handle);
    }
  } catch {
    return undefined;
  }
}

/** Writes the code that has been compiled so far; whole, or not at all. */
async function writeCode(file: string, { script, origin }: Compiled): Promise<void> {
  const bytes = script.createCachedData();
  const end = Buffer.from(origin + (await hashOf(bytes)), 'latin1');
  await replaceFile(file, Buffer.concat([bytes, end]), 0o600);
}

interface Compiled {
  readonly script: Script;
  readonly origin: string;
}

/** Keeps the code when the start is over: what was tried, or what has been compiled. Code that the disk has changed is not kept. */
function keepCode(
  [file, tried]: readonly [string, string],
  compiled: Compiled,
  used: Code | undefined,
  startedMs: number,
): void {
  const giveBack = (): void => {
    try {
      fs.renameSync(tried, file);
    } catch {
      // The next start compiles anew.
    }
  };
  const onExit = (code: number): void => {
    if (used !== undefined && code === 0) giveBack();
  };
  process.once('exit', onExit);
  const started = async (): Promise<void> => {
    process.off('exit', onExit);
    if (used === undefined) await writeCode(file, compiled);
    else if ((await hashOf(used.bytes)) === used.hash) giveBack();
  };
  const timer = setTimeout(() => {
    started().catch(() => undefined);
  }, startedMs);
  timer.unref();
}

/**
 * What the CommonJS module `file` exports, loaded with the code in `directory`; by `requires`, as any module, where there is
 * no such folder. That the code cannot be read or kept is no error.
 */
export function loadWithCode(
  file: string,
  directory: string | undefined,
  requires: Requires,
  startedMs: number = STARTED_MS,
): unknown {
  if (directory === undefined || directory === '') return requires(file);
  const { text, origin } = readSource(file);
  const [kept, tried] = [path.join(directory, NAME), path.join(directory, `${NAME}.tried`)];
  const code = takeCode(kept, tried, origin);
  const cachedData = code?.bytes;
  const script = new Script(PREFIX + text + SUFFIX, { filename: file, columnOffset: -PREFIX.length, cachedData });
  const used = script.cachedDataRejected === false ? code : undefined;
  keepCode([kept, tried], { script, origin }, used, startedMs);
  const module = { exports: {} };
  (script.runInThisContext() as Wrapper)(module.exports, requires, module, file, path.dirname(file));
  return module.exports;
}
