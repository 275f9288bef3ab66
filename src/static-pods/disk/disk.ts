import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { link, lstat, mkdir, open, readdir, readlink, rename, rmdir, unlink } from 'node:fs/promises';
import path from 'node:path';
import { errorCodeOf } from '../../errors.ts';
import { NEW_FILE, syncDirectory } from '../../host/files/durable-file.ts';

/** Identifies the content of a manifest, to verify that it is unchanged after a move. */
interface Fingerprint {
  readonly kind: 'file' | 'link';
  /** In hexadecimal; of the bytes of a file, or of the target of a link. */
  readonly sha256: string;
  /** Permission bits. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/**
 * The system calls of the mover. Each method makes at most one change, so that a test can end the process before and after
 * every change. Errors are those of Node.js, with their `code`.
 */
export interface Disk {
  rename(from: string, to: string): Promise<void>;
  /** Gives a file or a symbolic link a second name; fails with EEXIST if that name exists. */
  link(from: string, to: string): Promise<void>;
  unlink(file: string): Promise<void>;
  /** Creates one directory; does nothing if it exists. */
  makeDirectory(directory: string, mode: number): Promise<void>;
  /** Removes a directory if it exists and is empty. */
  removeDirectory(directory: string): Promise<void>;
  /** Creates an empty file; fails with EEXIST if the name exists. */
  create(file: string, mode: number): Promise<void>;
  append(file: string, data: string): Promise<void>;
  syncFile(file: string): Promise<void>;
  syncDirectory(directory: string): Promise<void>;
  /** Lists all names in a directory, sorted; none if there is no directory. */
  list(directory: string): Promise<readonly string[]>;
  /** Device and inode, which identify a file; undefined if there is no file. */
  identify(file: string): Promise<string | undefined>;
  /** Undefined if there is no file. Throws if it is neither a file nor a symbolic link. */
  fingerprint(file: string): Promise<Fingerprint | undefined>;
}

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
  // O_NONBLOCK, O_NOFOLLOW: the file may have been replaced by a pipe or a link since the check.
  await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  if (!(await handle.stat()).isFile()) throw new Error('it is neither a file nor a symbolic link');
  for await (const chunk of handle.createReadStream({ autoClose: false })) hash.update(chunk as Buffer);
  return { kind: 'file', sha256: hash.digest('hex'), ...owner };
}

/** The disk of this machine. */
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
    syncFile: async (file) => {
      // A link has no content: it consists of its directory entry only.
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
  };
}

/** Creates a directory with mode 0700, and missing directories above it, all durable. */
export async function ensureDirectory(disk: Disk, directory: string): Promise<void> {
  if ((await disk.identify(directory)) !== undefined) return;
  const parent = path.dirname(directory);
  await ensureDirectory(disk, parent);
  await disk.makeDirectory(directory, 0o700);
  await disk.syncDirectory(parent);
}
