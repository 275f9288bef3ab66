import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { link, lstat, mkdir, open, readdir, readlink, rename, rmdir, stat, unlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import { errorCodeOf } from '../errors.ts';
import { NEW_FILE, syncDirectory } from '../host/files/durable-file.ts';
import { findWriters, type OpenForWriting } from './writers.ts';

/** What a manifest is, so that it can be told from another and proven to be the same after a move. */
export interface Fingerprint {
  readonly kind: 'file' | 'link';
  /** Of the bytes of a file, of the target's text of a link; in hexadecimal. */
  readonly sha256: string;
  /** Permission bits. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/**
 * The system calls of the mover. Each method that changes the disk makes one change, so that a test can end the process
 * before and after every change there is. Errors are those of Node.js, with their `code`.
 */
export interface Disk {
  rename(from: string, to: string): Promise<void>;
  /** A second name for the same file, or for the same symbolic link; fails with EEXIST rather than overwrite. */
  link(from: string, to: string): Promise<void>;
  unlink(file: string): Promise<void>;
  /** Makes one directory; one that is there is fine. */
  makeDirectory(directory: string, mode: number): Promise<void>;
  /** Removes a directory if it is there and empty. */
  removeDirectory(directory: string): Promise<void>;
  /** Makes an empty file; fails with EEXIST where there is anything of that name. */
  create(file: string, mode: number): Promise<void>;
  append(file: string, data: string): Promise<void>;
  /** Copies a file or a symbolic link with its mode, owner, times and, where the file system has them, attributes. */
  copy(from: string, to: string): Promise<void>;
  syncFile(file: string): Promise<void>;
  syncDirectory(directory: string): Promise<void>;
  /** All names in a directory, sorted; none where there is no directory. */
  list(directory: string): Promise<readonly string[]>;
  /** Device and inode, which tell one file from another; undefined where there is none. */
  identify(file: string): Promise<string | undefined>;
  /** Undefined where there is no file. Throws for what is neither a file nor a symbolic link. */
  fingerprint(file: string): Promise<Fingerprint | undefined>;
  /** The processes that have the file open for writing. */
  writers(file: string): Promise<OpenForWriting>;
  /** Whether a file system is mounted at this directory (bind mounts of the same file system are not told apart). */
  isMountPoint(directory: string): Promise<boolean>;
}

const execute = promisify(execFile);

async function unlessMissing<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT' || errorCodeOf(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}

async function readFingerprint(file: string): Promise<Fingerprint> {
  const stats = await lstat(file);
  const owner = { mode: stats.mode & 0o7777, uid: stats.uid, gid: stats.gid };
  const hash = createHash('sha256');
  if (stats.isSymbolicLink()) {
    const target = await readlink(file, { encoding: 'buffer' });
    return { kind: 'link', sha256: hash.update(target).digest('hex'), ...owner };
  }
  if (!stats.isFile()) throw new Error('it is neither a file nor a symbolic link');
  // O_NONBLOCK, O_NOFOLLOW: it may have become a pipe or a link since.
  await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  if (!(await handle.stat()).isFile()) throw new Error('it is neither a file nor a symbolic link');
  for await (const chunk of handle.createReadStream({ autoClose: false })) hash.update(chunk as Buffer);
  return { kind: 'file', sha256: hash.digest('hex'), ...owner };
}

/** The machine's disk. */
export function createDisk(): Disk {
  return {
    rename,
    link,
    unlink,
    syncDirectory,
    makeDirectory: async (directory, mode) => {
      try {
        await mkdir(directory, { mode });
      } catch (error) {
        if (errorCodeOf(error) !== 'EEXIST') throw error;
      }
    },
    removeDirectory: async (directory) => {
      try {
        await rmdir(directory);
      } catch (error) {
        if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes(String(errorCodeOf(error)))) throw error;
      }
    },
    create: async (file, mode) => {
      await (await open(file, NEW_FILE, mode)).close();
    },
    append: async (file, data) => {
      await using handle = await open(file, constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW);
      await handle.appendFile(data);
    },
    // Node.js cannot copy owners, times to the nanosecond, or extended attributes (the SELinux label is one); cp can.
    copy: async (from, to) => {
      try {
        await execute('cp', ['-aT', '--', from, to], { env: { PATH: process.env['PATH'], LC_ALL: 'C' } });
      } catch (error) {
        const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
        throw said === '' ? error : new Error(said.replaceAll('\n', '; '));
      }
    },
    syncFile: async (file) => {
      // A link has no content of its own: its directory's entry is all of it.
      if ((await lstat(file)).isSymbolicLink()) return;
      await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
      await handle.sync();
    },
    list: async (directory) => ((await unlessMissing(() => readdir(directory))) ?? []).sort(),
    identify: (file) =>
      unlessMissing(async () => {
        const { dev, ino } = await lstat(file, { bigint: true });
        return `${dev}:${ino}`;
      }),
    fingerprint: (file) => unlessMissing(() => readFingerprint(file)),
    writers: findWriters,
    isMountPoint: async (directory) => (await stat(directory)).dev !== (await stat(`${directory}/..`)).dev,
  };
}
