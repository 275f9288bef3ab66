/**
 * Moves manifests out of the static pod directory and back. Protocol of a move, each step repeatable:
 * 1. the intent is appended to the journal and made durable;
 * 2. the file is renamed (park), or linked and then unlinked (restore: a link never overwrites), or, between two file
 *    systems, copied, taken, verified and removed (`transfer.ts`);
 * 3. both directories are made durable.
 * After a crash `recover` finishes or forgets what was under way; a manifest is always in at least one of the two places.
 */
import path from 'node:path';
import { describeError, NodemaintError } from '../errors.ts';
import type { Disk } from './disk.ts';
import { ensureDirectory } from './ensure-directory.ts';
import { createJournal, type Journal, type JournalStep, parkStepOf, type ParkStep } from './journal/journal.ts';
import { openJournal } from './journal/recovery.ts';
import { createFileMoves, type RestoreOutcome } from './file-moves.ts';
import { LEAVING } from './transfer.ts';
import type { MoverPaths } from './places.ts';

/** What a start found: manifests that are not where they should be. */
export interface Recovery {
  /** Moves that could not be finished; the manifest is where it was. */
  readonly failed: readonly { readonly file: string; readonly reason: string }[];
  /** Manifests that the journal says are parked and that somebody else has taken away. */
  readonly missing: readonly string[];
  /** What is wrong with the disk or the journal, a sentence each; the mover works all the same, as far as it can. */
  readonly problems: readonly string[];
}

/**
 * `durable`: no manifest moves before the disk has the step. `best-effort`: where the disk does not take it, memory does,
 * for a shutdown that must not wait; a boot would find the manifest parked without a reason, and gives it back.
 */
export type Durability = 'durable' | 'best-effort';

/** The only writer of the static pod directory, the parked directory and the journal. */
export interface Mover {
  /** Finishes what a crash interrupted. Call it first. Never fails: what is wrong is in its result. */
  recover(): Promise<Recovery>;
  /** Throws FILE_OPERATION_FAILED, and has then left the manifest where it was. One that is gone is no error. */
  park(step: ParkStep, durability?: Durability): Promise<void>;
  /**
   * Puts a manifest back, whether or not its step can be written; where somebody has written one of that name meanwhile,
   * theirs stays and ours is set aside. Throws FILE_OPERATION_FAILED.
   */
  restore(file: string): Promise<RestoreOutcome>;
  /** The step that parked each file, where the journal knows it. */
  parkSteps(): ReadonlyMap<string, ParkStep>;
  /** Tries again to write the steps that the disk has not taken. Never fails. */
  retry(): Promise<void>;
  /** Why the disk does not have all steps; undefined where it has. */
  problem(): string | undefined;
}

/** Makes a mover; nothing is touched before `recover`. */
export function createMover(paths: MoverPaths, disk: Disk): Mover {
  const { staticPodPath, parkedPath, journalPath, only } = paths;
  const moves = createFileMoves(paths, disk);
  const inPlace = (file: string): string => path.join(staticPodPath, file);
  let opened: Journal | undefined;

  const journal = (): Journal => {
    if (opened !== undefined) return opened;
    throw new NodemaintError('FILE_OPERATION_FAILED', 'the mover has not recovered yet');
  };

  /** Refuses names that would leave the directory; they come from a directory listing or a journal, never trusted. */
  const checkName = (file: string): void => {
    const climbs = file === '' || file.startsWith('.') || file.includes('/') || file.includes('\0');
    if (!climbs && (only === undefined || file === only)) return;
    const message = `refusing to move a manifest with the name ${JSON.stringify(file)}`;
    throw new NodemaintError('FILE_OPERATION_FAILED', message);
  };

  const recoverFile = async (file: string, step: JournalStep | undefined): Promise<void> => {
    checkName(file);
    const parkStep = parkStepOf(step);
    await moves.settle(file);
    if (step?.op === 'restore') await moves.restore(file, parkStep);
    // A park that never came to its rename is not repeated: whether the pod is to leave is decided anew.
    else if ((await disk.identify(inPlace(file))) === (await disk.identify(path.join(parkedPath, file)))) {
      await moves.park(file);
    }
  };

  const named = async <T>(what: string, file: string, move: () => Promise<T>): Promise<T> => {
    try {
      return await move();
    } catch (error) {
      const places = `between ${staticPodPath} and ${parkedPath}`;
      const message = `cannot ${what} the manifest ${JSON.stringify(file)} ${places}: ${describeError(error)}`;
      throw new NodemaintError('FILE_OPERATION_FAILED', message, { cause: error });
    }
  };

  /** Every file on its own: one that cannot be moved must not keep the others. */
  const recoverAll = async (next: Journal, leaving: readonly string[]): Promise<Recovery['failed']> => {
    const failed: { file: string; reason: string }[] = [];
    for (const file of new Set([...next.last().keys(), ...leaving])) {
      try {
        await named('recover', file, () => recoverFile(file, next.last().get(file)));
      } catch (error) {
        failed.push({ file, reason: describeError(error) });
      }
    }
    return failed;
  };

  const recover = async (): Promise<Recovery> => {
    const problems: string[] = [];
    /** What `call` gives; undefined where it fails, which is said. */
    const attempt = async <T>(call: () => Promise<T>): Promise<T | undefined> => {
      try {
        return await call();
      } catch (error) {
        problems.push(describeError(error));
        return undefined;
      }
    };
    await attempt(() => ensureDirectory(disk, parkedPath));
    await attempt(() => ensureDirectory(disk, path.dirname(journalPath)));
    const found = await openJournal({ file: journalPath, standIn: paths.journalStandIn }, disk);
    problems.push(...found.problems);
    const next = createJournal(found.place, disk, found.steps);
    const leaving = await Promise.all(
      [staticPodPath, parkedPath].map((directory) => attempt(() => disk.list(path.join(directory, LEAVING)))),
    );
    const failed = await recoverAll(
      next,
      leaving.flatMap((files) => files ?? []),
    );
    const unfinished = new Set(failed.map(({ file }) => file));
    const parked = await attempt(() => disk.list(parkedPath));
    await attempt(() => disk.syncDirectory(parkedPath));
    if ((await attempt(() => disk.identify(staticPodPath))) !== undefined) {
      await attempt(() => disk.syncDirectory(staticPodPath));
    }
    opened = next;
    // A directory that cannot be read tells nothing of what is missing.
    if (parked === undefined) return { failed, missing: [], problems };
    const isParked = new Set(parked);
    const missing: string[] = [];
    for (const [file, step] of next.last()) {
      if (step.op !== 'park' || isParked.has(file) || unfinished.has(file)) continue;
      if ((await attempt(() => disk.identify(inPlace(file)))) === undefined) missing.push(file);
    }
    // Starting from whole lines keeps a torn end from spoiling the next step, and the journal short.
    await next.compact(new Set([...isParked, ...unfinished]));
    const problem = next.problem();
    return { failed, missing, problems: problem === undefined ? problems : [...problems, problem] };
  };

  return {
    recover,
    park: async (step, durability = 'durable') => {
      const { file } = step;
      await named('park', file, async () => {
        checkName(file);
        await moves.settle(file);
        const found = await disk.fingerprint(inPlace(file));
        if (found === undefined) return;
        // What its writer has finished is to outlive a power cut after the move.
        await disk.syncFile(inPlace(file));
        const { sha256, mode, uid, gid } = found;
        const mountPoint = await disk.isMountPoint(staticPodPath);
        const origin = { path: inPlace(file), parkedPath, mode, uid, gid, mountPoint };
        const whole = { ...step, sha256, origin };
        await (durability === 'durable' ? journal().append(whole) : journal().note(whole));
        // It could not be made at the start where the disk was full then.
        await ensureDirectory(disk, parkedPath);
        await moves.park(file);
      });
    },
    restore: async (file) =>
      await named('restore', file, async () => {
        checkName(file);
        await moves.settle(file);
        const step = parkStepOf(journal().last().get(file));
        await journal().note({ op: 'restore', file, ...(step && { parked: step }) });
        return await moves.restore(file, step);
      }),
    parkSteps: () => {
      const steps = new Map<string, ParkStep>();
      for (const [file, last] of opened?.last() ?? []) {
        const step = parkStepOf(last);
        if (step !== undefined) steps.set(file, step);
      }
      return steps;
    },
    retry: async () => {
      await opened?.retry();
    },
    problem: () => opened?.problem(),
  };
}
