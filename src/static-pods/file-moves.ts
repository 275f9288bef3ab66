/**
 * The moves of one manifest, without the journal: each can be repeated, and repeated after a crash in the middle of it.
 * No move removes a name that somebody else may have given to another file in the meantime.
 */
import path from 'node:path';
import { errorCodeOf, NodemaintError } from '../errors.ts';
import type { Disk } from './disk.ts';
import type { ParkStep } from './journal/journal.ts';
import type { MoverPaths } from './places.ts';
import { createSuperseded } from './superseded.ts';
import { createTransfer, LEAVING, type Route } from './transfer.ts';

/**
 * `restored-changed`: what came back is not what was parked; somebody wrote into it meanwhile, and that is the newest.
 * `kept-newer`: a file of that name was there; it stays, and ours lies in `.superseded` of the parked directory.
 */
export type RestoreOutcome = 'restored' | 'restored-changed' | 'kept-newer';

/** In the static pod directory: originals of manifests whose copies are parked, which somebody may have been writing. */
export const LEFT = '.nodemaint-superseded';

/** The moves of the mover; errors are those of the disk. */
export interface FileMoves {
  /** Moves a manifest out, over an older parked one, which is kept; nothing where there is none. */
  park(file: string): Promise<void>;
  /** Moves a manifest back, never over a file; `step` parked it. */
  restore(file: string, step: ParkStep | undefined): Promise<RestoreOutcome>;
  /** Finishes a move between file systems that a crash interrupted. */
  settle(file: string): Promise<void>;
}

/** Makes the moves between the two directories of `paths`. */
export function createFileMoves({ staticPodPath, parkedPath }: MoverPaths, disk: Disk): FileMoves {
  const superseded = createSuperseded(path.join(parkedPath, '.superseded'), disk);
  /** Made only where the parked directory is on another file system, which no rename reaches. */
  const left = createSuperseded(path.join(staticPodPath, LEFT), disk);
  const transfer = createTransfer(disk);

  const inPlace = (file: string): string => path.join(staticPodPath, file);
  const parked = (file: string): string => path.join(parkedPath, file);
  const wayOut = (file: string): Route => ({ from: staticPodPath, to: parkedPath, file, keeper: left });
  const wayBack = (file: string): Route => ({ from: parkedPath, to: staticPodPath, file, keeper: superseded });

  const syncBoth = async (): Promise<void> => {
    await disk.syncDirectory(parkedPath);
    await disk.syncDirectory(staticPodPath);
  };

  /** Puts a file under the parked name; what had the name keeps another one. */
  const placeParked = async (from: string, file: string): Promise<boolean> => {
    if ((await disk.identify(parked(file))) !== undefined) await superseded.keep(parked(file));
    await disk.rename(from, parked(file));
    await disk.syncDirectory(path.dirname(from));
    return true;
  };

  /** Puts a file under its own name if that is free; another name of the same file is free enough. */
  const placeBack = async (from: string, file: string): Promise<boolean> => {
    try {
      await disk.link(from, inPlace(file));
    } catch (error) {
      if (errorCodeOf(error) !== 'EEXIST') throw error;
      return (await disk.identify(inPlace(file))) === (await disk.identify(from));
    }
    return true;
  };

  const park = async (file: string): Promise<void> => {
    const source = await disk.identify(inPlace(file));
    if (source === undefined) return;
    if (source === (await disk.identify(parked(file)))) {
      // A restore was interrupted: one name is enough. It is taken first, as somebody may just be giving it to another file.
      const leaving = path.join(staticPodPath, LEAVING, file);
      await disk.makeDirectory(path.dirname(leaving), 0o700);
      await disk.rename(inPlace(file), leaving);
      if ((await disk.identify(leaving)) === (await disk.identify(parked(file)))) await disk.unlink(leaving);
      else await placeParked(leaving, file);
      await disk.removeDirectory(path.dirname(leaving));
    } else {
      try {
        await placeParked(inPlace(file), file);
      } catch (error) {
        if (errorCodeOf(error) !== 'EXDEV') throw error;
        await transfer.start(wayOut(file), (arriving) => placeParked(arriving, file));
      }
    }
    await syncBoth();
  };

  const restoreAcross = async (file: string, way: 'start' | 'resume'): Promise<boolean> => {
    const placed = await transfer[way](wayBack(file), (arriving) => placeBack(arriving, file));
    if (!placed) {
      await superseded.take(path.join(parkedPath, LEAVING, file));
      await disk.removeDirectory(path.join(parkedPath, LEAVING));
    }
    return placed;
  };

  const restore = async (file: string, step: ParkStep | undefined): Promise<RestoreOutcome> => {
    const found = await disk.fingerprint(parked(file));
    if (found === undefined) return 'restored';
    if (step?.origin?.mountPoint === true && !(await disk.isMountPoint(staticPodPath))) {
      const message = `${staticPodPath} was a mount point and nothing is mounted there now: mount it, or it would be hidden`;
      throw new NodemaintError('FILE_OPERATION_FAILED', message);
    }
    let placed: boolean;
    try {
      placed = await placeBack(parked(file), file);
      await disk.syncDirectory(staticPodPath);
      if (placed) await disk.unlink(parked(file));
      else await superseded.take(parked(file));
    } catch (error) {
      if (errorCodeOf(error) !== 'EXDEV') throw error;
      placed = await restoreAcross(file, 'start');
    }
    await disk.syncDirectory(parkedPath);
    if (!placed) return 'kept-newer';
    return step?.origin === undefined || step.sha256 === found.sha256 ? 'restored' : 'restored-changed';
  };

  /** Finishes a move between file systems that a crash interrupted. */
  const settle = async (file: string): Promise<void> => {
    await transfer.resume(wayOut(file), (arriving) => placeParked(arriving, file));
    await restoreAcross(file, 'resume');
  };

  return { park, restore, settle };
}
