/**
 * The moves of one manifest, without the journal. Each can be repeated, also after a crash in the middle of it. No move
 * removes a name that another program may have given to another file in the meantime.
 */
import path from 'node:path';
import { errorCodeOf, NodemaintError } from '../errors.ts';
import type { Disk } from './disk/disk.ts';
import type { ParkStep } from './journal/journal.ts';
import type { MoverPaths } from './places.ts';
import { createSuperseded, type Superseded } from './superseded.ts';
import { createTransfer, LEAVING, type Route, type Transfer } from './transfer.ts';

/**
 * `restored-changed`: the manifest is back, with newer content that was written into it while it was parked.
 * `kept-newer`: another file of that name was there; it stays, and the parked one is in `.superseded` of the parked
 * directory.
 */
export type RestoreOutcome = 'restored' | 'restored-changed' | 'kept-newer';

/**
 * In the static pod directory: originals of manifests whose copies are parked, kept because a process may have been writing
 * into them. It exists only if the parked directory is on another file system, which rename does not reach.
 */
const LEFT = '.nodemaint-superseded';

/** The moves of one manifest. Errors are those of the disk. */
export interface FileMoves {
  /** Moves a manifest out. An older parked one of that name is kept. Does nothing if there is no manifest. */
  park(file: string): Promise<void>;
  /** Moves a manifest back, and never overwrites a file. `step` is the one that parked it. */
  restore(file: string, step: ParkStep | undefined): Promise<RestoreOutcome>;
  /** Finishes a move between file systems that a crash interrupted. */
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
  readonly #left: Superseded;
  readonly #transfer: Transfer;

  constructor(paths: MoverPaths, disk: Disk) {
    this.#paths = paths;
    this.#disk = disk;
    this.#superseded = createSuperseded(path.join(paths.parkedPath, '.superseded'), disk);
    this.#left = createSuperseded(path.join(paths.staticPodPath, LEFT), disk);
    this.#transfer = createTransfer(disk);
  }

  async park(file: string): Promise<void> {
    const disk = this.#disk;
    const source = await disk.identify(this.#inPlace(file));
    if (source === undefined) return;
    if (source === (await disk.identify(this.#parked(file)))) await this.#removeSecondName(file);
    else {
      try {
        await this.#placeParked(this.#inPlace(file), file);
      } catch (error) {
        if (errorCodeOf(error) !== 'EXDEV') throw error;
        await this.#transfer.start(this.#wayOut(file), (arriving) => this.#placeParked(arriving, file));
      }
    }
    await disk.syncDirectory(this.#paths.parkedPath);
    await disk.syncDirectory(this.#paths.staticPodPath);
  }

  async restore(file: string, step: ParkStep | undefined): Promise<RestoreOutcome> {
    const { staticPodPath, parkedPath } = this.#paths;
    const disk = this.#disk;
    const found = await disk.fingerprint(this.#parked(file));
    if (found === undefined) return 'restored';
    if (step?.origin?.mountPoint === true && !(await disk.isMountPoint(staticPodPath))) {
      const what = `${staticPodPath} was a mount point and nothing is mounted there now`;
      const message = `${what}: mount it first, because a later mount would hide the manifest`;
      throw new NodemaintError('FILE_OPERATION_FAILED', message);
    }
    let placed: boolean;
    try {
      placed = await this.#placeBack(this.#parked(file), file);
      await disk.syncDirectory(staticPodPath);
      if (placed) await disk.unlink(this.#parked(file));
      else await this.#superseded.take(this.#parked(file));
    } catch (error) {
      if (errorCodeOf(error) !== 'EXDEV') throw error;
      placed = await this.#restoreAcross(file, 'start');
    }
    await disk.syncDirectory(parkedPath);
    if (!placed) return 'kept-newer';
    return step?.origin === undefined || step.sha256 === found.sha256 ? 'restored' : 'restored-changed';
  }

  async settle(file: string): Promise<void> {
    await this.#transfer.resume(this.#wayOut(file), (arriving) => this.#placeParked(arriving, file));
    await this.#restoreAcross(file, 'resume');
  }

  #inPlace(file: string): string {
    return path.join(this.#paths.staticPodPath, file);
  }

  #parked(file: string): string {
    return path.join(this.#paths.parkedPath, file);
  }

  #wayOut(file: string): Route {
    const { staticPodPath, parkedPath } = this.#paths;
    return { from: staticPodPath, to: parkedPath, file, keeper: this.#left };
  }

  #wayBack(file: string): Route {
    const { staticPodPath, parkedPath } = this.#paths;
    return { from: parkedPath, to: staticPodPath, file, keeper: this.#superseded };
  }

  /**
   * After an interrupted restore the manifest has both names, and only the parked one is needed. The other name is moved
   * aside before it is removed, because another program may give that name to another file at any moment.
   */
  async #removeSecondName(file: string): Promise<void> {
    const disk = this.#disk;
    const leaving = path.join(this.#paths.staticPodPath, LEAVING, file);
    await disk.makeDirectory(path.dirname(leaving), 0o700);
    await disk.rename(this.#inPlace(file), leaving);
    if ((await disk.identify(leaving)) === (await disk.identify(this.#parked(file)))) await disk.unlink(leaving);
    else await this.#placeParked(leaving, file);
    await disk.removeDirectory(path.dirname(leaving));
  }

  /** Gives a file the parked name; an older file of that name is kept under another one. */
  async #placeParked(from: string, file: string): Promise<boolean> {
    if ((await this.#disk.identify(this.#parked(file))) !== undefined) await this.#superseded.keep(this.#parked(file));
    await this.#disk.rename(from, this.#parked(file));
    await this.#disk.syncDirectory(path.dirname(from));
    return true;
  }

  /** Gives a file its name in the static pod directory. Returns false if another file has that name. */
  async #placeBack(from: string, file: string): Promise<boolean> {
    try {
      await this.#disk.link(from, this.#inPlace(file));
    } catch (error) {
      if (errorCodeOf(error) !== 'EEXIST') throw error;
      return (await this.#disk.identify(this.#inPlace(file))) === (await this.#disk.identify(from));
    }
    return true;
  }

  async #restoreAcross(file: string, way: 'start' | 'resume'): Promise<boolean> {
    const placed = await this.#transfer[way](this.#wayBack(file), (arriving) => this.#placeBack(arriving, file));
    if (!placed) {
      await this.#superseded.take(path.join(this.#paths.parkedPath, LEAVING, file));
      await this.#disk.removeDirectory(path.join(this.#paths.parkedPath, LEAVING));
    }
    return placed;
  }
}
