/**
 * Moves a manifest to another file system, where rename does not work: copy, make durable, verify, remove. First the
 * manifest is copied. Then a rename into a dot directory beside it takes its name away, so that no program can open it by
 * name any more. If a process still has it open for writing, it is not removed; if the kernel does not tell whether one
 * has, it is kept with the older contents. So no written byte is lost. After a crash the dot directory shows which move was
 * under way. Each step can be repeated.
 */
import path from 'node:path';
import { errorCodeOf, NodemaintError } from '../errors.ts';
import type { Disk } from './disk/disk.ts';
import type { Superseded } from './superseded.ts';

/** In the directory that a manifest leaves: manifests that have lost their name and are not removed yet. */
export const LEAVING = '.nodemaint-leaving';
/** In the directory that a manifest is moved to: copies, perhaps incomplete. The original always exists too. */
export const ARRIVING = '.nodemaint-arriving';

/** One manifest on its way from one directory to another. */
export interface Route {
  readonly from: string;
  readonly to: string;
  readonly file: string;
  /** Keeps the original, in the file system of `from`, if a process may still be writing into it after the copy. */
  readonly keeper: Superseded;
}

/** Gives the verified copy its final name; returns false if another file has that name. */
type Place = (arriving: string) => Promise<boolean>;

/** Moves between file systems. */
export interface Transfer {
  /** Moves a manifest. If that fails, the manifest is where it was. */
  start(route: Route, place: Place): Promise<boolean>;
  /** Finishes a move that a crash interrupted; does nothing if there is none. */
  resume(route: Route, place: Place): Promise<boolean>;
}

function pathsOf({ from, to, file }: Route) {
  return {
    source: path.join(from, file),
    target: path.join(to, file),
    leaving: path.join(from, LEAVING, file),
    arriving: path.join(to, ARRIVING, file),
  };
}

export function createTransfer(disk: Disk): Transfer {
  return new FileTransfer(disk);
}

class FileTransfer implements Transfer {
  readonly #disk: Disk;

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  async start(route: Route, place: Place): Promise<boolean> {
    const { source, leaving, arriving } = pathsOf(route);
    try {
      await this.#copy(source, arriving);
      await this.#disk.makeDirectory(path.dirname(leaving), 0o700);
      await this.#disk.rename(source, leaving);
      await this.#disk.syncDirectory(path.dirname(leaving));
      await this.#disk.syncDirectory(route.from);
    } catch (error) {
      await this.#drop(arriving);
      throw error;
    }
    return await this.#landOrPutBack(route, place);
  }

  async resume(route: Route, place: Place): Promise<boolean> {
    const { source, leaving, arriving } = pathsOf(route);
    const left = await this.#disk.identify(leaving);
    // The manifest still has its name, or has it again: the name in the dot directory is not needed.
    if (left === undefined || left === (await this.#disk.identify(source))) {
      await this.#drop(leaving);
      await this.#drop(arriving);
      return true;
    }
    return await this.#landOrPutBack(route, place);
  }

  async #landOrPutBack(route: Route, place: Place): Promise<boolean> {
    try {
      return await this.#land(route, place);
    } catch (error) {
      // If this fails too, the manifest stays in the dot directory until the next move or start settles it.
      await this.#putBack(route).catch(() => undefined);
      await this.#drop(pathsOf(route).arriving).catch(() => undefined);
      throw error;
    }
  }

  async #land(route: Route, place: Place): Promise<boolean> {
    const { leaving, arriving, target } = pathsOf(route);
    const { writers, maybeOthers } = await this.#disk.writers(leaving);
    if (writers.length > 0) {
      const who = writers.map(String).join(', ');
      throw new NodemaintError('FILE_OPERATION_FAILED', `process ${who} is writing it; it is tried again`);
    }
    // After a crash the copy may already be in its place, with or without its name in the dot directory.
    const placed = (await this.#isSame(leaving, target)) || (await this.#verifyAndPlace(route, place));
    await this.#disk.syncDirectory(route.to);
    await this.#drop(arriving);
    if (placed) {
      // Bytes that a hidden writer still writes are missing in the copy, so the original is kept.
      if (maybeOthers) await route.keeper.take(leaving);
      await this.#drop(leaving);
      await this.#disk.syncDirectory(route.from);
    }
    return placed;
  }

  async #verifyAndPlace(route: Route, place: Place): Promise<boolean> {
    const { leaving, arriving } = pathsOf(route);
    if (!(await this.#isSame(leaving, arriving))) await this.#copy(leaving, arriving);
    if (!(await this.#isSame(leaving, arriving))) {
      throw new NodemaintError('FILE_OPERATION_FAILED', `the copy in ${route.to} differs from the original`);
    }
    return await place(arriving);
  }

  /** Gives the manifest its name back, unless another file has been written with that name. */
  async #putBack(route: Route): Promise<void> {
    const { source, leaving } = pathsOf(route);
    const disk = this.#disk;
    try {
      await disk.link(leaving, source);
    } catch (error) {
      if (errorCodeOf(error) !== 'EEXIST') throw error;
      if ((await disk.identify(source)) !== (await disk.identify(leaving))) return;
    }
    await disk.syncDirectory(route.from);
    await this.#drop(leaving);
  }

  async #copy(from: string, arriving: string): Promise<void> {
    await this.#disk.makeDirectory(path.dirname(arriving), 0o700);
    await this.#removeIfThere(arriving);
    await this.#disk.copy(from, arriving);
    await this.#disk.syncFile(arriving);
    await this.#disk.syncDirectory(path.dirname(arriving));
  }

  async #isSame(one: string, other: string): Promise<boolean> {
    const [a, b] = [await this.#disk.fingerprint(one), await this.#disk.fingerprint(other)];
    return a !== undefined && a.sha256 === b?.sha256 && a.kind === b.kind;
  }

  /** Removes a file of a dot directory, and the directory if it is empty then. Either may be missing. */
  async #drop(file: string): Promise<void> {
    // A read-only file system refuses to remove even what does not exist.
    if ((await this.#disk.identify(path.dirname(file))) === undefined) return;
    await this.#removeIfThere(file);
    await this.#disk.removeDirectory(path.dirname(file));
  }

  async #removeIfThere(file: string): Promise<void> {
    if ((await this.#disk.identify(file)) !== undefined) await this.#disk.unlink(file);
  }
}
