/**
 * The moves of one manifest, without the journal. Each can be repeated, also after a crash in the middle of it. No move
 * removes a name that another program may have given to another file in the meantime.
 */
import path from 'node:path';
import { errorCodeOf } from '../errors.ts';
import { type Disk, ensureDirectory } from './disk/disk.ts';
import type { ParkStep } from './journal/journal.ts';
import type { MoverPaths } from './places.ts';

/** Older contents of manifests, in numbered folders of a directory: of each name about the last hundred. None is replaced. */
interface Superseded {
  /** Gives a file a second name in this directory. */
  keep(file: string): Promise<void>;
  /** Moves a file into this directory. */
  take(file: string): Promise<void>;
}

/** A program that writes a manifest anew again and again must not fill the disk. */
const MOST_FOLDERS = 100;

/** Keeps older contents below the directory `root`. */
function createSuperseded(root: string, disk: Disk): Superseded {
  /** The newest folder if it does not contain the name, else a new one: for each name, a higher number is a newer content. */
  const freePath = async (name: string): Promise<{ readonly newest: string; readonly free: string }> => {
    const numbers = (await disk.list(root)).map(Number).filter((number) => Number.isSafeInteger(number) && number > 0);
    const highest = Math.max(0, ...numbers);
    const newest = path.join(root, String(highest), name);
    const taken = highest === 0 || (await disk.identify(newest)) !== undefined;
    const folder = path.join(root, String(taken ? highest + 1 : highest));
    await ensureDirectory(disk, folder);
    return { newest, free: path.join(folder, name) };
  };

  const sync = async (file: string): Promise<void> => {
    await disk.syncDirectory(path.dirname(file));
  };

  /** Removes what is a hundred folders older than this file. */
  const forgetOlder = async (file: string): Promise<void> => {
    const folder = path.join(root, String(Number(path.basename(path.dirname(file))) - MOST_FOLDERS));
    const older = path.join(folder, path.basename(file));
    if ((await disk.identify(older)) === undefined) return;
    await disk.unlink(older);
    if ((await disk.list(folder)).length === 0) await disk.removeDirectory(folder);
  };

  return {
    keep: async (file) => {
      const { newest, free } = await freePath(path.basename(file));
      // The file is kept already, if a crash came between this call and the following move.
      if ((await disk.identify(newest)) === (await disk.identify(file))) return;
      await disk.link(file, free);
      await sync(free);
      await forgetOlder(free);
    },
    take: async (file) => {
      const { free } = await freePath(path.basename(file));
      await disk.rename(file, free);
      await sync(free);
      await sync(file);
      await forgetOlder(free);
    },
  };
}

/**
 * `restored-changed`: the manifest is back, with newer content that was written into it while it was parked.
 * `kept-newer`: another file of that name was there; it stays, and the parked one is in `.superseded` of the parked
 * directory.
 */
export type RestoreOutcome = 'restored' | 'restored-changed' | 'kept-newer';

/** In the static pod directory: a second name of a manifest that is parked, on its way to be removed. */
export const LEAVING = '.nodemaint-leaving';

/** The moves of one manifest. Errors are those of the disk. */
export class FileMoves {
  readonly #paths: MoverPaths;
  readonly #disk: Disk;
  readonly #superseded: Superseded;

  constructor(paths: MoverPaths, disk: Disk) {
    this.#paths = paths;
    this.#disk = disk;
    this.#superseded = createSuperseded(path.join(paths.parkedPath, '.superseded'), disk);
  }

  /** Moves a manifest out. An older parked one of that name is kept. Does nothing if there is no manifest. */
  async park(file: string): Promise<void> {
    const disk = this.#disk;
    const source = await disk.identify(this.#inPlace(file));
    if (source === undefined) return;
    if (source === (await disk.identify(this.#parked(file)))) await this.#removeSecondName(file);
    else await this.#placeParked(this.#inPlace(file), file);
    await disk.syncDirectory(this.#paths.parkedPath);
    await disk.syncDirectory(this.#paths.staticPodPath);
  }

  /** Moves a manifest back, and never overwrites a file. `step` is the one that parked it. */
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

  /** Finishes the removal of a second name that a crash interrupted. */
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
