import path from 'node:path';
import type { Disk } from './disk/disk.ts';
import { ensureDirectory } from './disk/ensure-directory.ts';

/** Older contents of manifests, in numbered folders of a directory: of each name about the last hundred. None is replaced. */
export interface Superseded {
  /** Gives a file a second name in this directory. */
  keep(file: string): Promise<void>;
  /** Moves a file into this directory. */
  take(file: string): Promise<void>;
}

/** A program that writes a manifest anew again and again must not fill the disk. */
const MOST_FOLDERS = 100;

/** Keeps older contents below the directory `root`. */
export function createSuperseded(root: string, disk: Disk): Superseded {
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
