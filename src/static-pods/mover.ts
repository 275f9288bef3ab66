/**
 * Moves manifests out of the static pod directory and back. Protocol of a move, each step repeatable:
 * 1. the intent is appended to the journal and made durable;
 * 2. the file is renamed (park), or linked and then unlinked (restore: a link never overwrites);
 * 3. both directories are made durable.
 * After a crash `recover` finishes or abandons interrupted moves. A manifest is always in at least one of the two directories.
 */
import path from 'node:path';
import { describeError, NodemaintError } from '../errors.ts';
import { type Disk, ensureDirectory } from './disk/disk.ts';
import {
  createJournal,
  type Journal,
  type JournalStep,
  parkStepOf,
  type ParkStep,
  parkSteps,
} from './journal/journal.ts';
import { openJournal } from './journal/recovery.ts';
import { FileMoves, LEAVING, type RestoreOutcome } from './file-moves.ts';
import type { MoverPaths } from './places.ts';

/** What `recover` found: manifests that are not where they should be. */
interface Recovery {
  /** Moves that could not be finished; the manifest stays where it was. */
  readonly failed: readonly { readonly file: string; readonly reason: string }[];
  /** Manifests that are parked according to the journal and were removed by another program. */
  readonly missing: readonly string[];
  /** Problems of the disk or the journal, one sentence each; the mover continues as far as it can. */
  readonly problems: readonly string[];
}

/**
 * `durable`: the manifest moves only after its step is durable on the disk. `best-effort`: if the disk cannot be written,
 * the step is kept in memory, for a shutdown that must not wait; the next boot then finds a parked manifest without a
 * step, and restores it.
 */
export type Durability = 'durable' | 'best-effort';

/** The only writer of the static pod directory, the parked directory and the journal. */
export class Mover {
  readonly #paths: MoverPaths;
  readonly #disk: Disk;
  readonly #moves: FileMoves;
  /** Undefined before `recover`. */
  #journal: Journal | undefined;

  /** Changes nothing before `recover`. */
  constructor(paths: MoverPaths, disk: Disk) {
    this.#paths = paths;
    this.#disk = disk;
    this.#moves = new FileMoves(paths, disk);
  }

  /** Finishes moves that a crash interrupted. Must be called first. Never fails: the result contains the problems. */
  async recover(): Promise<Recovery> {
    const { staticPodPath, parkedPath, journalPath, journalStandIn } = this.#paths;
    const disk = this.#disk;
    const attempts = new Attempts();
    await attempts.run(() => ensureDirectory(disk, parkedPath));
    await attempts.run(() => ensureDirectory(disk, path.dirname(journalPath)));
    const found = await openJournal({ file: journalPath, standIn: journalStandIn }, disk);
    attempts.problems.push(...found.problems);
    const journal = createJournal(found.location, disk, found.steps);
    const leaving = await attempts.run(() => disk.list(path.join(staticPodPath, LEAVING)));
    const failed = await this.#recoverAll(journal, leaving ?? []);
    const parked = await attempts.run(() => disk.list(parkedPath));
    await attempts.run(() => disk.syncDirectory(parkedPath));
    if ((await attempts.run(() => disk.identify(staticPodPath))) !== undefined) {
      await attempts.run(() => disk.syncDirectory(staticPodPath));
    }
    this.#journal = journal;
    // A parked directory that cannot be read says nothing about missing manifests.
    if (parked === undefined) return { failed, missing: [], problems: attempts.problems };
    const known = new Set([...parked, ...failed.map(({ file }) => file)]);
    const missing: string[] = [];
    for (const [file, step] of journal.last()) {
      if (step.op !== 'park' || known.has(file)) continue;
      if ((await attempts.run(() => disk.identify(this.#inPlace(file)))) === undefined) missing.push(file);
    }
    // The journal is written again from whole lines: it stays short, and a torn last line cannot spoil the next step.
    await journal.compact(known);
    const problem = journal.problem();
    return { failed, missing, problems: problem === undefined ? attempts.problems : [...attempts.problems, problem] };
  }

  /**
   * Moves a manifest out of the static pod directory; does nothing if it is not there. Throws FILE_OPERATION_FAILED, and
   * then the manifest is where it was.
   */
  async park(step: ParkStep, durability: Durability = 'durable'): Promise<void> {
    await this.#named('park', step.file, async () => {
      const { file } = step;
      const { parkedPath } = this.#paths;
      this.#checkName(file);
      await this.#moves.settle(file);
      const found = await this.#disk.fingerprint(this.#inPlace(file));
      if (found === undefined) return;
      // The content must survive a power cut after the move, even if its writer has not made it durable.
      await this.#disk.syncFile(this.#inPlace(file));
      const { sha256, mode, uid, gid } = found;
      const origin = { path: this.#inPlace(file), parkedPath, mode, uid, gid, mountPoint: false };
      const whole = { ...step, sha256, origin };
      await (durability === 'durable' ? this.#opened().append(whole) : this.#opened().note(whole));
      // `recover` could not create it if the disk was full then.
      await ensureDirectory(this.#disk, parkedPath);
      await this.#moves.park(file);
    });
  }

  /**
   * Moves a manifest back, whether or not its step can be written. If another program has written a manifest of that name
   * in the meantime, that one stays and the parked one is kept in `.superseded`. Throws FILE_OPERATION_FAILED.
   */
  async restore(file: string): Promise<RestoreOutcome> {
    return await this.#named('restore', file, async () => {
      this.#checkName(file);
      await this.#moves.settle(file);
      const step = parkStepOf(this.#opened().last().get(file));
      await this.#opened().note({ op: 'restore', file, ...(step && { parked: step }) });
      return await this.#moves.restore(file, step);
    });
  }

  /** The step that parked each file, if the journal has it. */
  parkSteps(): ReadonlyMap<string, ParkStep> {
    return parkSteps(this.#journal?.last() ?? new Map());
  }

  /** Tries again to write steps that could not be written to the disk. Never fails. */
  async retry(): Promise<void> {
    await this.#journal?.retry();
  }

  /** Why the disk does not have all steps; undefined if it has. */
  problem(): string | undefined {
    return this.#journal?.problem();
  }

  #inPlace(file: string): string {
    return path.join(this.#paths.staticPodPath, file);
  }

  #opened(): Journal {
    if (this.#journal !== undefined) return this.#journal;
    throw new NodemaintError('FILE_OPERATION_FAILED', 'the mover has not recovered yet');
  }

  /** Refuses names that lead out of the directory: names come from a directory listing or a journal, not to be trusted. */
  #checkName(file: string): void {
    const { only } = this.#paths;
    const isOutside = file === '' || file.startsWith('.') || file.includes('/') || file.includes('\0');
    if (!isOutside && (only === undefined || file === only)) return;
    const message = `refusing to move a manifest with the name ${JSON.stringify(file)}`;
    throw new NodemaintError('FILE_OPERATION_FAILED', message);
  }

  /** Recovers each file by itself: a file that cannot be moved does not keep the others from being recovered. */
  async #recoverAll(journal: Journal, leaving: readonly string[]): Promise<Recovery['failed']> {
    const failed: { file: string; reason: string }[] = [];
    for (const file of new Set([...journal.last().keys(), ...leaving])) {
      try {
        await this.#named('recover', file, () => this.#recoverFile(file, journal.last().get(file)));
      } catch (error) {
        failed.push({ file, reason: describeError(error) });
      }
    }
    return failed;
  }

  async #recoverFile(file: string, step: JournalStep | undefined): Promise<void> {
    this.#checkName(file);
    await this.#moves.settle(file);
    const isSameFile = async (): Promise<boolean> => {
      const parked = await this.#disk.identify(path.join(this.#paths.parkedPath, file));
      return (await this.#disk.identify(this.#inPlace(file))) === parked;
    };
    if (step?.op === 'restore') await this.#moves.restore(file, parkStepOf(step));
    // A park that stopped before its rename is not repeated: the agent decides again whether the pod must leave.
    else if (await isSameFile()) await this.#moves.park(file);
  }

  async #named<T>(what: string, file: string, move: () => Promise<T>): Promise<T> {
    try {
      return await move();
    } catch (error) {
      const where = `between ${this.#paths.staticPodPath} and ${this.#paths.parkedPath}`;
      const message = `cannot ${what} the manifest ${JSON.stringify(file)} ${where}: ${describeError(error)}`;
      throw new NodemaintError('FILE_OPERATION_FAILED', message, { cause: error });
    }
  }
}

/** Runs calls that may fail, and collects the errors. */
class Attempts {
  readonly problems: string[] = [];

  /** Returns the result of `call`; undefined if it fails. */
  async run<T>(call: () => Promise<T>): Promise<T | undefined> {
    try {
      return await call();
    } catch (error) {
      this.problems.push(describeError(error));
      return undefined;
    }
  }
}
