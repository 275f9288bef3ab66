/**
 * Moves manifests out of the static pod directory and back. Protocol of a move, each step repeatable:
 * 1. the intent is appended to the journal and made durable;
 * 2. the file is renamed (park), or linked and then unlinked (restore: a link never overwrites);
 * 3. both directories are made durable.
 * After a crash `recover` finishes or forgets what was under way; a manifest is always in at least one of the two places.
 */
import path from 'node:path';
import { describeError, NodemaintError } from '../errors.ts';
import type { Disk } from './disk.ts';
import { formatStep, type JournalStep, lastSteps, type ParkStep, readJournal } from './journal.ts';

export interface MoverPaths {
  readonly staticPodPath: string;
  readonly parkedPath: string;
  readonly journalPath: string;
}

export type RestoreOutcome = 'restored' | 'kept-newer';

/** The only writer of the static pod directory, the parked directory and the journal. */
export interface Mover {
  /** Finishes what a crash interrupted. Call it first. */
  recover(): Promise<void>;
  park(step: ParkStep): Promise<void>;
  /** Puts a manifest back; where somebody has written one of that name meanwhile, theirs stays and ours is set aside. */
  restore(file: string): Promise<RestoreOutcome>;
  /** The step that parked each file, where the journal knows it. */
  parkSteps(): ReadonlyMap<string, ParkStep>;
}

/** Refuses names that would leave the directory; they come from a directory listing or a journal, never trusted. */
function checkedName(file: string): string {
  if (file === '' || file.startsWith('.') || file.includes('/') || file.includes('\0')) {
    throw new NodemaintError(
      'FILE_OPERATION_FAILED',
      `refusing to move a manifest with the name ${JSON.stringify(file)}`,
    );
  }
  return file;
}

/** Makes a mover; nothing is touched before `recover`. */
export function createMover(paths: MoverPaths, disk: Disk): Mover {
  const { staticPodPath, parkedPath, journalPath } = paths;
  const supersededPath = path.join(parkedPath, '.superseded');
  let last = new Map<string, JournalStep>();

  const inPlace = (file: string): string => path.join(staticPodPath, checkedName(file));
  const parked = (file: string): string => path.join(parkedPath, checkedName(file));

  const syncBoth = async (): Promise<void> => {
    await disk.syncDirectory(parkedPath);
    await disk.syncDirectory(staticPodPath);
  };

  const append = async (step: JournalStep): Promise<void> => {
    await disk.append(journalPath, formatStep(step));
    last.set(step.file, step);
  };

  /** Keeps an older parked version under a name of its own, so that no content is ever lost. */
  const setAside = async (file: string): Promise<void> => {
    await disk.makeDirectory(supersededPath, 0o700);
    const taken = new Set(await disk.list(supersededPath));
    let count = 1;
    while (taken.has(`${file}.${count}`)) count += 1;
    await disk.rename(parked(file), path.join(supersededPath, `${file}.${count}`));
    await disk.syncDirectory(supersededPath);
  };

  const finishPark = async (file: string): Promise<void> => {
    const source = await disk.identify(inPlace(file));
    const target = await disk.identify(parked(file));
    if (source === undefined) return;
    // The same file under both names is a restore that was interrupted before this park: one name is enough.
    if (source === target) await disk.unlink(inPlace(file));
    else {
      if (target !== undefined) await setAside(file);
      await disk.rename(inPlace(file), parked(file));
    }
    await syncBoth();
  };

  const finishRestore = async (file: string): Promise<RestoreOutcome> => {
    const source = await disk.identify(parked(file));
    if (source === undefined) return 'restored';
    let outcome: RestoreOutcome = 'restored';
    try {
      await disk.link(parked(file), inPlace(file));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      if ((await disk.identify(inPlace(file))) !== source) outcome = 'kept-newer';
    }
    await disk.syncDirectory(staticPodPath);
    if (outcome === 'restored') await disk.unlink(parked(file));
    else await setAside(file);
    await disk.syncDirectory(parkedPath);
    return outcome;
  };

  const named = async <T>(what: string, file: string, move: () => Promise<T>): Promise<T> => {
    try {
      return await move();
    } catch (error) {
      if (error instanceof NodemaintError) throw error;
      throw new NodemaintError(
        'FILE_OPERATION_FAILED',
        `cannot ${what} the manifest ${file} between ${staticPodPath} and ${parkedPath}: ${describeError(error)}`,
        { cause: error },
      );
    }
  };

  return {
    recover: async () => {
      await disk.makeDirectory(parkedPath, 0o700);
      await disk.makeDirectory(path.dirname(journalPath), 0o700);
      last = new Map(lastSteps(await readJournal(journalPath)));
      for (const [file, { op }] of last) {
        if (op === 'restore') await named('restore', file, () => finishRestore(file));
        // A park that never came to its rename is not repeated: whether the pod is to leave is decided anew.
        else if ((await disk.identify(inPlace(file))) === (await disk.identify(parked(file)))) {
          await named('park', file, () => finishPark(file));
        }
      }
      await syncBoth();
      // Starting from whole lines keeps a torn end from spoiling the next step, and the journal short.
      const parkedFiles = new Set(await disk.list(parkedPath));
      last = new Map([...last].filter(([file]) => parkedFiles.has(file)));
      await disk.replace(journalPath, [...last.values()].map(formatStep).join(''));
    },
    park: async (step) => {
      await named('park', step.file, async () => {
        checkedName(step.file);
        await append(step);
        await finishPark(step.file);
      });
    },
    restore: async (file) =>
      await named('restore', file, async () => {
        checkedName(file);
        await append({ op: 'restore', file });
        return await finishRestore(file);
      }),
    parkSteps: () => new Map([...last].flatMap(([file, step]) => (step.op === 'park' ? [[file, step] as const] : []))),
  };
}
