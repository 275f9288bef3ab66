/**
 * Moves a manifest to another file system, where a rename cannot reach: copy, make durable, verify, remove. The manifest
 * is at first copied, then taken away from its name by a rename into a dot directory beside it. From then on nobody can
 * reach it by name; whoever has it still open for writing keeps it from being removed, and where the kernel does not tell
 * whether anybody has, it is kept beside the older contents. So no write is lost, and after a crash the dot directory says what was under way. Each step can be repeated.
 */
import path from 'node:path';
import { errorCodeOf, NodemaintError } from '../errors.ts';
import type { Disk } from './disk.ts';
import type { Superseded } from './superseded.ts';

/** In the directory that a manifest leaves: taken from its name, not yet gone. */
export const LEAVING = '.nodemaint-leaving';
/** In the directory that a manifest comes to: a copy, perhaps a part of one. Never the only one. */
export const ARRIVING = '.nodemaint-arriving';

/** One manifest on its way from one directory to another. */
export interface Route {
  readonly from: string;
  readonly to: string;
  readonly file: string;
  /** Where in the file system of `from` it is kept when its copy has landed and somebody may still be writing into it. */
  readonly keeper: Superseded;
}

/** Puts the verified copy under its name; returns whether it took the place, or somebody else's file has it. */
export type Place = (arriving: string) => Promise<boolean>;

/** Moves between file systems. */
export interface Transfer {
  /** Copies, takes and lands a manifest. Where that fails, it is where it was. */
  start(route: Route, place: Place): Promise<boolean>;
  /** Lands what a crash left behind; does nothing where there is nothing. */
  resume(route: Route, place: Place): Promise<boolean>;
}

function placesOf({ from, to, file }: Route) {
  return {
    source: path.join(from, file),
    target: path.join(to, file),
    leaving: path.join(from, LEAVING, file),
    arriving: path.join(to, ARRIVING, file),
  };
}

/** Makes the mover's hands for another file system. */
export function createTransfer(disk: Disk): Transfer {
  const removeIfThere = async (file: string): Promise<void> => {
    if ((await disk.identify(file)) !== undefined) await disk.unlink(file);
  };

  const isSame = async (one: string, other: string): Promise<boolean> => {
    const [a, b] = [await disk.fingerprint(one), await disk.fingerprint(other)];
    return a !== undefined && a.sha256 === b?.sha256 && a.kind === b.kind;
  };

  const copy = async (from: string, arriving: string): Promise<void> => {
    await disk.makeDirectory(path.dirname(arriving), 0o700);
    await removeIfThere(arriving);
    await disk.copy(from, arriving);
    await disk.syncFile(arriving);
    await disk.syncDirectory(path.dirname(arriving));
  };

  /** Removes a file's leftover and the dot directory it is in, as far as they are there. */
  const drop = async (file: string): Promise<void> => {
    // Even to remove what is not there is refused by a read-only file system.
    if ((await disk.identify(path.dirname(file))) === undefined) return;
    await removeIfThere(file);
    await disk.removeDirectory(path.dirname(file));
  };

  /** Gives the manifest its name back, unless somebody has written another one meanwhile. */
  const putBack = async (route: Route): Promise<void> => {
    const { source, leaving } = placesOf(route);
    try {
      await disk.link(leaving, source);
    } catch (error) {
      if (errorCodeOf(error) === 'EEXIST' && (await disk.identify(source)) !== (await disk.identify(leaving))) return;
      if (errorCodeOf(error) !== 'EEXIST') throw error;
    }
    await disk.syncDirectory(route.from);
    await drop(leaving);
  };

  const land = async (route: Route, place: Place): Promise<boolean> => {
    const { leaving, arriving, target } = placesOf(route);
    const { writers, maybeOthers } = await disk.writers(leaving);
    if (writers.length > 0) {
      const who = writers.map(String).join(', ');
      throw new NodemaintError('FILE_OPERATION_FAILED', `process ${who} is writing it; it is tried again`);
    }
    let placed = true;
    // After a crash the copy may be in its place already, alone or with its first name.
    if (!(await isSame(leaving, target))) {
      if (!(await isSame(leaving, arriving))) await copy(leaving, arriving);
      if (!(await isSame(leaving, arriving))) {
        throw new NodemaintError('FILE_OPERATION_FAILED', `the copy in ${route.to} is not what was written`);
      }
      placed = await place(arriving);
    }
    await disk.syncDirectory(route.to);
    await drop(arriving);
    if (placed) {
      // What they write is not in the copy any more, but it is not lost either.
      if (maybeOthers) await route.keeper.take(leaving);
      await drop(leaving);
      await disk.syncDirectory(route.from);
    }
    return placed;
  };

  const landOrPutBack = async (route: Route, place: Place): Promise<boolean> => {
    try {
      return await land(route, place);
    } catch (error) {
      // What cannot be put back now stays beside its name and is settled by the next move or start.
      await putBack(route).catch(() => undefined);
      await drop(placesOf(route).arriving).catch(() => undefined);
      throw error;
    }
  };

  return {
    start: async (route, place) => {
      const { source, leaving, arriving } = placesOf(route);
      try {
        await copy(source, arriving);
        await disk.makeDirectory(path.dirname(leaving), 0o700);
        await disk.rename(source, leaving);
        await disk.syncDirectory(path.dirname(leaving));
        await disk.syncDirectory(route.from);
      } catch (error) {
        await drop(arriving);
        throw error;
      }
      return await landOrPutBack(route, place);
    },
    resume: async (route, place) => {
      const { source, leaving, arriving } = placesOf(route);
      const left = await disk.identify(leaving);
      // Nothing was taken, or it was being put back: one name is enough.
      if (left === undefined || left === (await disk.identify(source))) {
        await drop(leaving);
        await drop(arriving);
        return true;
      }
      return await landOrPutBack(route, place);
    },
  };
}
