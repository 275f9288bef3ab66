import { link, lstat, mkdir, open, readdir, rename, unlink } from 'node:fs/promises';
import { replaceFile, syncDirectory } from '../host/durable-file.ts';

/** The file system calls that change or identify manifests; tests cut the power between any two of them. */
export interface Disk {
  rename(from: string, to: string): Promise<void>;
  /** A second name for the same file; fails with EEXIST rather than overwrite. */
  link(from: string, to: string): Promise<void>;
  unlink(file: string): Promise<void>;
  syncDirectory(directory: string): Promise<void>;
  /** Appends and makes it durable. */
  append(file: string, data: string): Promise<void>;
  /** Replaces a file's content as one durable step. */
  replace(file: string, data: string): Promise<void>;
  makeDirectory(directory: string, mode: number): Promise<void>;
  list(directory: string): Promise<readonly string[]>;
  /** Device and inode, which tell one file from another; undefined where there is no such file. */
  identify(file: string): Promise<string | undefined>;
}

/** The machine's disk. */
export function createDisk(): Disk {
  return {
    rename,
    link,
    unlink,
    syncDirectory,
    append: async (file, data) => {
      const handle = await open(file, 'a', 0o600);
      try {
        await handle.appendFile(data);
        await handle.sync();
      } finally {
        await handle.close();
      }
    },
    replace: async (file, data) => {
      await replaceFile(file, data, 0o600);
    },
    makeDirectory: async (directory, mode) => {
      await mkdir(directory, { recursive: true, mode });
    },
    list: async (directory) => {
      const names = await readdir(directory);
      return names.filter((name) => !name.startsWith('.')).sort();
    },
    identify: async (file) => {
      try {
        const { dev, ino } = await lstat(file, { bigint: true });
        return `${dev}:${ino}`;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        throw error;
      }
    },
  };
}
