/**
 * The small files that keep the agent's state over restarts and reboots. A full, read-only or broken disk does not stop the
 * agent: what cannot be written stays in memory and in the run directory, which survives the agent but not a reboot, and is
 * written as soon as the disk works again.
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

/** The agent's state by file name. No method fails: `problem` reports errors of the disk. */
export interface StateFiles {
  /**
   * The content that was written last; undefined if there is none, or none could be read yet. A file that can be read no
   * longer has the content that this process read or wrote last.
   */
  read(name: string): Promise<string | undefined>;
  /** Replaces the content. Empty content removes the file. */
  write(name: string, data: string): Promise<void>;
  remove(name: string): Promise<void>;
  /** Renames a file to NAME.SUFFIX, so that a person can inspect it. Returns the new path; undefined if that failed. */
  setAside(name: string, suffix: string): Promise<string | undefined>;
  /** Tries again to write what could not be written. */
  retry(): Promise<void>;
  /** What is wrong with the disk, for people; undefined if everything is written. */
  problem(): string | undefined;
}

interface StateFilesOptions {
  /** A directory on a disk, for state that must survive a reboot. */
  readonly directory: string;
  /** A directory in memory, for state that cannot be written to the disk. */
  readonly runDirectory: string;
  readonly disk?: StateDisk;
}

const MODE = 0o600;

/** The disk of this machine. */
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

/** The folder of the run directory for state that could not be written to the disk. */
function standInDirectory(runDirectory: string): string {
  return path.join(runDirectory, 'state');
}

/** Opens the files, with the writes that an earlier agent of this boot could not complete. Changes nothing. */
export async function openStateFiles(options: StateFilesOptions): Promise<StateFiles> {
  const { directory, runDirectory, disk = createStateDisk() } = options;
  const files = new DurableStateFiles(directory, standInDirectory(runDirectory), disk);
  await files.load();
  return files;
}

/** A write that the disk has not taken: new content, or the removal of the file. */
type Pending = { readonly kind: 'content'; readonly data: string } | { readonly kind: 'removed' };

class DurableStateFiles implements StateFiles {
  readonly #directory: string;
  readonly #standIn: string;
  readonly #disk: StateDisk;
  readonly #pending = new Map<string, Pending>();
  /** What was read or written last, by file name. */
  readonly #known = new Map<string, string>();
  #problem: { readonly code: unknown; readonly text: string } | undefined;

  constructor(directory: string, standIn: string, disk: StateDisk) {
    this.#directory = directory;
    this.#standIn = standIn;
    this.#disk = disk;
  }

  /** Reads what an earlier agent has left in the run directory. */
  async load(): Promise<void> {
    for (const name of await this.#disk.list(this.#standIn).catch((): string[] => [])) {
      if (name.startsWith('.')) continue;
      const data = await this.#disk.read(path.join(this.#standIn, name)).catch(() => undefined);
      // In the run directory an empty file stands for a removed one.
      if (data !== undefined) this.#pending.set(name, data === '' ? { kind: 'removed' } : { kind: 'content', data });
    }
  }

  async read(name: string): Promise<string | undefined> {
    const pending = this.#pending.get(name);
    if (pending !== undefined) return pending.kind === 'content' ? pending.data : undefined;
    try {
      const data = await this.#disk.read(path.join(this.#directory, name));
      this.#known.set(name, data);
      return data;
    } catch (error) {
      if (errorCodeOf(error) === 'ENOENT') this.#known.delete(name);
      else this.#noteProblem('read', name, error);
      return this.#known.get(name);
    }
  }

  async write(name: string, data: string): Promise<void> {
    await this.#put(name, data === '' ? { kind: 'removed' } : { kind: 'content', data });
  }

  async remove(name: string): Promise<void> {
    await this.#put(name, { kind: 'removed' });
  }

  async setAside(name: string, suffix: string): Promise<string | undefined> {
    const pending = this.#pending.get(name);
    const aside = path.join(this.#directory, `${name}.${suffix}`);
    try {
      if (pending === undefined) await this.#disk.rename(path.join(this.#directory, name), aside);
      else await this.#disk.replace(aside, pending.kind === 'content' ? pending.data : '');
    } catch (error) {
      this.#noteProblem('set aside', name, error);
      return undefined;
    }
    this.#known.delete(name);
    if (pending !== undefined) {
      this.#pending.delete(name);
      await this.#disk.remove(path.join(this.#standIn, name)).catch(() => undefined);
    }
    return aside;
  }

  async retry(): Promise<void> {
    for (const [name, pending] of this.#pending) await this.#put(name, pending);
  }

  problem(): string | undefined {
    return this.#problem?.text;
  }

  async #put(name: string, change: Pending): Promise<void> {
    const file = path.join(this.#directory, name);
    if (change.kind === 'removed') this.#known.delete(name);
    else this.#known.set(name, change.data);
    try {
      if (change.kind === 'removed') await this.#disk.remove(file);
      else {
        await this.#disk.makeDirectory(this.#directory);
        await this.#disk.replace(file, change.data);
      }
    } catch (error) {
      this.#noteProblem('write', name, error);
      await this.#keepInRunDirectory(name, change);
      return;
    }
    // In this order: after a crash in between, the file in the run directory is used, which is at most one write older.
    this.#pending.delete(name);
    await this.#disk.remove(path.join(this.#standIn, name)).catch(() => undefined);
    if (this.#pending.size === 0) this.#problem = undefined;
  }

  async #keepInRunDirectory(name: string, change: Pending): Promise<void> {
    this.#pending.set(name, change);
    try {
      await this.#disk.makeDirectory(this.#standIn);
      await this.#disk.replace(path.join(this.#standIn, name), change.kind === 'content' ? change.data : '');
    } catch {
      // It is kept in memory only. A restarted agent would lose it, and decide again from what it observes.
    }
  }

  #noteProblem(doing: string, name: string, error: unknown): void {
    const code = errorCodeOf(error);
    // While the same error continues, the text stays the same, whichever file the error is for.
    if (this.#problem !== undefined && this.#problem.code === code) return;
    this.#problem = { code, text: `cannot ${doing} ${path.join(this.#directory, name)}: ${describeError(error)}` };
  }
}
