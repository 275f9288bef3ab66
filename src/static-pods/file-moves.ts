/**
 * The moves of one manifest, without the journal. Each can be repeated, also after a crash in the middle of it. No move
 * removes a name that another program may have given to another file in the meantime.
 */
import path from 'node:path';
import { errorCodeOf } from '../errors.ts';
import type { Disk } from './disk/disk.ts';
import type { ParkStep } from './journal/journal.ts';
import type { MoverPaths } from './places.ts';
import { createSuperseded, type Superseded } from './superseded.ts';

/**
 * `restored-changed`: the manifest is back, with newer content that was written into it while it was parked.
 * `kept-newer`: another file of that name was there; it stays, and the parked one is in `.superseded` of the parked
 * directory.
 */
export type RestoreOutcome = 'restored' | 'restored-changed' | 'kept-newer';

/** In the static pod directory: a second name of a manifest that is parked, on its way to be removed. */
export const LEAVING = '.nodemaint-leaving';

/** The moves of one manifest. Errors are those of the disk. */
export interface FileMoves {
  /** Moves a manifest out. An older parked one of that name is kept. Does nothing if there is no manifest. */
  park(file: string): Promise<void>;
  /** Moves a manifest back, and never overwrites a file. `step` is the one that parked it. */
  restore(file: string, step: ParkStep | undefined): Promise<RestoreOutcome>;
  /** Finishes the removal of a second name that a crash interrupted. */
  settle(file: string): Promise<void>;
}

/** Creates the moves between the two directories of `paths`. */
export function createFileMoves(paths: MoverPaths, disk: Disk): FileMoves {
  return new DirectoryMoves(paths, disk);
}

class DirectoryMoves implements FileMoves {
  readonly #paths: MoverPaths;
  readonly #disk: Disk;
  readonly #superseded: Superseded;

  constructor(paths: MoverPaths, disk: Disk) {
    this.#paths = paths;
    this.#disk = disk;
    this.#superseded = createSuperseded(path.join(paths.parkedPath, '.superseded'), disk);
  }

  async park(file: string): Promise<void> {
    const disk = this.#disk;
    const source = await disk.identify(this.#inPlace(file));
    if (source === undefined) return;
    if (source === (await disk.identify(this.#parked(file)))) await this.#removeSecondName(file);
    else await this.#placeParked(this.#inPlace(file), file);
    await disk.syncDirectory(this.#paths.parkedPath);
    await disk.syncDirectory(this.#paths.staticPodPath);
  }

  async restore(file: string, step: ParkStep | undefined): Promise<RestoreOutcome> {
    const { staticPodPath, parkedPath } = this.#paths;
    const disk = this.#disk;
    const found = await disk.fingerprint(this.#parked(file));
    if (found === undefined) return 'restored';
    const placed = await this.#placeBack(file);
    await disk.syncDirectory(staticPodPath);
    if (placed) await disk.unlink(this.#parked(file));
    else await this.#superseded.take(this.#parked(file));
    await disk.syncDirectory(parkedPath);
    if (!placed) return 'kept-newer';
    return step?.origin === undefined || step.sha256 === found.sha256 ? 'restored' : 'restored-changed';
  }

  async settle(file: string): Promise<void> {
    const disk = this.#disk;
    const leaving = this.#leaving(file);
    // A read-only file system refuses to remove even what does not exist.
    if ((await disk.identify(path.dirname(leaving))) === undefined) return;
    const left = await disk.identify(leaving);
    if (left !== undefined) {
      const names = [await disk.identify(this.#parked(file)), await disk.identify(this.#inPlace(file))];
      if (names.includes(left)) await disk.unlink(leaving);
      // Another program had given the name to a newer manifest.
      else await this.#placeParked(leaving, file);
    }
    await disk.removeDirectory(path.dirname(leaving));
  }

  #inPlace(file: string): string {
    return path.join(this.#paths.staticPodPath, file);
  }

  #parked(file: string): string {
    return path.join(this.#paths.parkedPath, file);
  }

  #leaving(file: string): string {
    return path.join(this.#paths.staticPodPath, LEAVING, file);
  }

  /**
   * After an interrupted restore the manifest has both names, and only the parked one is needed. The other name is moved
   * aside before it is removed, because another program may give that name to another file at any moment.
   */
  async #removeSecondName(file: string): Promise<void> {
    const disk = this.#disk;
    const leaving = this.#leaving(file);
    await disk.makeDirectory(path.dirname(leaving), 0o700);
    await disk.rename(this.#inPlace(file), leaving);
    await this.settle(file);
  }

  /** Gives a file the parked name; an older file of that name is kept under another one. */
  async #placeParked(from: string, file: string): Promise<void> {
    if ((await this.#disk.identify(this.#parked(file))) !== undefined) await this.#superseded.keep(this.#parked(file));
    await this.#disk.rename(from, this.#parked(file));
    await this.#disk.syncDirectory(path.dirname(from));
  }

  /** Gives a parked manifest its name back. Returns false if another file has that name. */
  async #placeBack(file: string): Promise<boolean> {
    try {
      await this.#disk.link(this.#parked(file), this.#inPlace(file));
    } catch (error) {
      if (errorCodeOf(error) !== 'EEXIST') throw error;
      return (await this.#disk.identify(this.#inPlace(file))) === (await this.#disk.identify(this.#parked(file)));
    }
    return true;
  }
}
