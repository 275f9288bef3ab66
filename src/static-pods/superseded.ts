import path from 'node:path';
import type { Disk } from './disk.ts';
import { ensureDirectory } from './ensure-directory.ts';

/** Older contents of manifests, in numbered folders of a directory: nothing in it is ever removed or replaced. */
export interface Superseded {
  /** Gives the file at `place` a name here too. */
  keep(place: string): Promise<void>;
  /** Moves the file at `place` here. */
  take(place: string): Promise<void>;
}

/** Makes the keeper of older contents below the directory `root`. */
export function createSuperseded(root: string, disk: Disk): Superseded {
  /** The newest folder if it has no such name, else a new one: of one name the higher number is the newer content. */
  const freePlace = async (name: string): Promise<{ readonly newest: string; readonly free: string }> => {
    const numbers = (await disk.list(root)).map(Number).filter((number) => Number.isSafeInteger(number) && number > 0);
    const highest = Math.max(0, ...numbers);
    const newest = path.join(root, String(highest), name);
    const taken = highest === 0 || (await disk.identify(newest)) !== undefined;
    const folder = path.join(root, String(taken ? highest + 1 : highest));
    await ensureDirectory(disk, folder);
    return { newest, free: path.join(folder, name) };
  };

  const sync = async (place: string): Promise<void> => {
    await disk.syncDirectory(path.dirname(place));
  };

  return {
    keep: async (place) => {
      const { newest, free } = await freePlace(path.basename(place));
      // A crash came between this and the move that follows: it is kept already.
      if ((await disk.identify(newest)) === (await disk.identify(place))) return;
      await disk.link(place, free);
      await sync(free);
    },
    take: async (place) => {
      const { free } = await freePlace(path.basename(place));
      await disk.rename(place, free);
      await sync(free);
      await sync(place);
    },
  };
}
