/**
 * The small files in which the agent remembers over restarts and boots. A disk that is full, read-only or broken keeps
 * nobody from going on: what it does not take stays in memory and in the run directory, which outlives the agent but not
 * the boot, and is written as soon as the disk takes it.
 */
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { describeError, errorCodeOf } from '../../errors.ts';
import { replaceFile, syncDirectory } from './durable-file.ts';

/** The calls that touch the disk, each of which may fail; errors are those of Node.js, with their `code`. */
export interface StateDisk {
  makeDirectory(directory: string): Promise<void>;
  list(directory: string): Promise<readonly string[]>;
  read(file: string): Promise<string>;
  /** Replaces the file as one durable step. */
  replace(file: string, data: string): Promise<void>;
  /** Removes the file if it is there, durably. */
  remove(file: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
}

/** The agent's memory by file name. No call fails: what the disk does not take or give is in `problem`. */
export interface StateFiles {
  /** What was written last; undefined where there is nothing, or nothing that can be read. */
  read(name: string): Promise<string | undefined>;
  write(name: string, data: string): Promise<void>;
  remove(name: string): Promise<void>;
  /** Renames what `read` gave to NAME.SUFFIX, for a person to look at; returns the new path, undefined where that failed. */
  setAside(name: string, suffix: string): Promise<string | undefined>;
  /** Tries again to write what the disk has not taken. */
  retry(): Promise<void>;
  /** What is wrong with the disk, for people; undefined while all is written. */
  problem(): string | undefined;
}

export interface StateFilesOptions {
  /** On a disk, for what has to outlive a boot. */
  readonly directory: string;
  /** On a file system in memory, for what the disk does not take. */
  readonly runDirectory: string;
  readonly disk?: StateDisk;
}

const MODE = 0o600;

/** The disk as it is. */
export function createStateDisk(): StateDisk {
  return {
    makeDirectory: async (directory) => {
      await mkdir(directory, { recursive: true, mode: 0o700 });
    },
    list: (directory) => readdir(directory),
    read: (file) => readFile(file, 'utf8'),
    replace: (file, data) => replaceFile(file, data, MODE),
    remove: async (file) => {
      try {
        await rm(file);
      } catch (error) {
        if (errorCodeOf(error) === 'ENOENT') return;
        throw error;
      }
      await syncDirectory(path.dirname(file));
    },
    rename,
  };
}

/** The folder of the run directory that has what the disk did not take. */
export function standInDirectory(runDirectory: string): string {
  return path.join(runDirectory, 'state');
}

/** Opens the files; takes up what an earlier agent of this boot could not write. Changes nothing. */
export async function openStateFiles(options: StateFilesOptions): Promise<StateFiles> {
  const { directory, runDirectory, disk = createStateDisk() } = options;
  const standIn = standInDirectory(runDirectory);
  /** What the disk has not taken; '' stands for a file that is to be removed. */
  const pending = new Map<string, string>();
  let problem: { readonly code: unknown; readonly text: string } | undefined;

  const complain = (doing: string, name: string, error: unknown): void => {
    const code = errorCodeOf(error);
    // One sentence as long as it is the same trouble, whichever file shows it.
    if (problem !== undefined && problem.code === code) return;
    problem = { code, text: `cannot ${doing} ${path.join(directory, name)}: ${describeError(error)}` };
  };
  const keepBeside = async (name: string, data: string): Promise<void> => {
    pending.set(name, data);
    try {
      await disk.makeDirectory(standIn);
      await disk.replace(path.join(standIn, name), data);
    } catch {
      // Memory is what is left; the agent's restart would forget it, and decide anew from what it sees.
    }
  };
  const put = async (name: string, data: string): Promise<void> => {
    const file = path.join(directory, name);
    try {
      if (data === '') await disk.remove(file);
      else {
        await disk.makeDirectory(directory);
        await disk.replace(file, data);
      }
    } catch (error) {
      complain('write', name, error);
      await keepBeside(name, data);
      return;
    }
    // In this order: after a crash in between, the one in the run directory counts, and is at most one step older.
    pending.delete(name);
    await disk.remove(path.join(standIn, name)).catch(() => undefined);
    if (pending.size === 0) problem = undefined;
  };

  for (const name of await disk.list(standIn).catch((): string[] => [])) {
    if (name.startsWith('.')) continue;
    const data = await disk.read(path.join(standIn, name)).catch(() => undefined);
    if (data !== undefined) pending.set(name, data);
  }

  return {
    read: async (name) => {
      const kept = pending.get(name);
      if (kept !== undefined) return kept === '' ? undefined : kept;
      try {
        return await disk.read(path.join(directory, name));
      } catch (error) {
        if (errorCodeOf(error) !== 'ENOENT') complain('read', name, error);
        return undefined;
      }
    },
    write: put,
    remove: (name) => put(name, ''),
    setAside: async (name, suffix) => {
      const kept = pending.get(name);
      const from = path.join(kept === undefined ? directory : standIn, name);
      const aside = path.join(directory, `${name}.${suffix}`);
      try {
        if (kept === undefined) await disk.rename(from, aside);
        else await disk.replace(aside, kept);
      } catch (error) {
        complain('set aside', name, error);
        return undefined;
      }
      if (kept !== undefined) {
        pending.delete(name);
        await disk.remove(from).catch(() => undefined);
      }
      return aside;
    },
    retry: async () => {
      for (const [name, data] of pending) await put(name, data);
    },
    problem: () => problem?.text,
  };
}
