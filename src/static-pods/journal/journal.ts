/**
 * The journal of the mover: each step is made durable here before it is done. The parked directory shows which manifests
 * are parked; the journal says why, since when, what they were, and in which direction an interrupted move went. One JSON
 * line per step, each with a checksum. A torn last line is an interrupted write and is dropped; any other damage is
 * corruption. Lines are only appended; compaction replaces the whole file atomically.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import * as z from 'zod';
import { describeError, errorCodeOf, NodemaintError } from '../../errors.ts';
import { type Disk, ensureDirectory } from '../disk/disk.ts';

/** The pod as the kubelet knew it when its manifest was parked: the file itself may change or become unreadable. */
const podSchema = z.object({
  namespace: z.string(),
  name: z.string(),
  podName: z.string(),
  labels: z.record(z.string(), z.string()),
  priority: z.number(),
  priorityKnown: z.boolean(),
  graceSec: z.number(),
});
const originSchema = z.object({
  /** The full path of the manifest, and the directory in which it is parked. */
  path: z.string(),
  parkedPath: z.string(),
  mode: z.number(),
  uid: z.number(),
  gid: z.number(),
  /** Always false: version 0.2.0 takes a line without it for damaged. */
  mountPoint: z.boolean().optional(),
});
const parkSchema = z.object({
  op: z.literal('park'),
  file: z.string(),
  sha256: z.string(),
  maintenance: z.string(),
  at: z.number(),
  bootId: z.string(),
  /** Whether the agent created `maintenance` for a shutdown of this node: the next boot ends that maintenance. */
  shutdown: z.boolean().optional(),
  pod: podSchema.optional(),
  origin: originSchema.optional(),
  /** Hashes of the certificates of the cluster's authority; absent where they were not known. */
  authorities: z.array(z.string()).optional(),
});
/** `parked`: the step that parked the manifest; it still applies if the restore fails. */
const restoreSchema = z.object({ op: z.literal('restore'), file: z.string(), parked: parkSchema.optional() });
const stepSchema = z.discriminatedUnion('op', [parkSchema, restoreSchema]);

/** The intent to park a manifest. The mover reads `origin` and `sha256` from the file. */
export type ParkStep = z.infer<typeof parkSchema>;
/** One step of the mover. */
export type JournalStep = z.infer<typeof stepSchema>;

const CHECKSUM_LENGTH = 16;
/** The journal is compacted when it has this many lines more than needed, so that a file written in a loop cannot fill the disk. */
const COMPACT_AFTER = 256;

function checksum(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, CHECKSUM_LENGTH);
}

/** The line of a step, with its newline. Members that are not in the schema are left out. */
export function formatStep(step: JournalStep): string {
  const text = JSON.stringify(stepSchema.parse(step));
  return `${checksum(text)} ${text}\n`;
}

function parseLine(line: string): JournalStep | undefined {
  const text = line.slice(CHECKSUM_LENGTH + 1);
  if (line.slice(0, CHECKSUM_LENGTH + 1) !== `${checksum(text)} `) return undefined;
  try {
    return stepSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Parses a journal: the readable steps, and the numbers of damaged lines. A torn last line is not counted as damaged. */
export function readSteps(text: string): {
  readonly steps: readonly JournalStep[];
  readonly damaged: readonly number[];
} {
  const lines = text.split('\n');
  // The write of this line was interrupted, so its step was never done.
  if (parseLine(lines.at(-1) ?? '') === undefined) lines.pop();
  const parsed = lines.map((line, index) => parseLine(line) ?? index + 1);
  return {
    steps: parsed.filter((line) => typeof line !== 'number'),
    damaged: parsed.filter((line) => typeof line === 'number'),
  };
}

/** Parses a journal. Throws JOURNAL_CORRUPT with the line number, unless the only damage is a torn last line. */
export function parseJournal(text: string, path: string): readonly JournalStep[] {
  const { steps, damaged } = readSteps(text);
  if (damaged.length === 0) return steps;
  const message = `line ${damaged[0]} of the journal ${path} is damaged; the manifests are safe in the parked directory`;
  throw new NodemaintError('JOURNAL_CORRUPT', message);
}

/** The step that parked the file of `step`; undefined if it is not known. */
export function parkStepOf(step: JournalStep | undefined): ParkStep | undefined {
  return step?.op === 'park' ? step : step?.parked;
}

/** The last step of each file. */
export function lastSteps(steps: readonly JournalStep[]): ReadonlyMap<string, JournalStep> {
  return new Map(steps.map((step) => [step.file, step]));
}

/** The steps that parked files, by file, of the last step of each; of a file whose step is not known there is none. */
export function parkSteps(last: ReadonlyMap<string, JournalStep>): ReadonlyMap<string, ParkStep> {
  return new Map(
    [...last].flatMap(([file, step]) => {
      const parked = parkStepOf(step);
      return parked === undefined ? [] : [[file, parked] as const];
    }),
  );
}

/** The text of a file; undefined if there is none. Throws the errors of Node.js. */
export async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Reads the journal without changing it; a missing file is an empty journal. Throws JOURNAL_CORRUPT and the errors of Node.js. */
export async function readJournal(file: string, standIn?: string): Promise<readonly JournalStep[]> {
  const ahead = standIn === undefined ? undefined : await readIfThere(standIn);
  if (ahead !== undefined) return readSteps(ahead).steps;
  return parseJournal((await readIfThere(file)) ?? '', file);
}

/** The files of a journal. */
export interface JournalLocation {
  readonly file: string;
  /** A file on a file system in memory, for steps that cannot be written to the disk. */
  readonly standIn?: string | undefined;
  /** Why the file must not be written: a part of it cannot be read. */
  readonly sealed?: string | undefined;
}

/** Creates the writer of a journal that holds `steps` already. */
export function createJournal(location: JournalLocation, disk: Disk, steps: readonly JournalStep[]): Journal {
  return new Journal(location, disk, steps);
}

/** The journal, open for its only writer. */
export class Journal {
  readonly #location: JournalLocation;
  readonly #disk: Disk;
  #last: ReadonlyMap<string, JournalStep>;
  /** Lines of the file; undefined if its end may be torn, and then the next step writes a new file. */
  #lines: number | undefined;
  #problem: string | undefined;
  /** Whether there are steps that the file does not have. */
  #isAhead = false;

  constructor(location: JournalLocation, disk: Disk, steps: readonly JournalStep[]) {
    this.#location = location;
    this.#disk = disk;
    this.#last = lastSteps(steps);
    this.#problem = location.sealed;
  }

  /** The last step of each file. */
  last(): ReadonlyMap<string, JournalStep> {
    return this.#last;
  }

  /** Adds a step and makes it durable. Throws the errors of the disk, and then the step is not added. */
  async append(step: JournalStep): Promise<void> {
    await this.#save(this.#with(step), step);
  }

  /**
   * Adds a step as durably as possible: on the disk, else in the stand-in, which survives the process but not a reboot,
   * else in memory. Never fails.
   */
  async note(step: JournalStep): Promise<void> {
    const next = this.#with(step);
    try {
      await this.#save(next, step);
    } catch {
      await this.#saveInStandIn(next);
    }
  }

  /** Removes the steps of files that are not parked; on the disk if it can be written. Never fails. */
  async compact(parked: ReadonlySet<string>): Promise<void> {
    const next = new Map([...this.#last].filter(([name]) => parked.has(name)));
    await this.#save(next).catch(() => undefined);
  }

  /** Tries again to write steps that could not be written to the disk. Never fails. */
  async retry(): Promise<void> {
    if (this.#problem !== undefined) await this.#save(this.#last).catch(() => undefined);
  }

  /** Why the last write failed; undefined if the disk has all steps. */
  problem(): string | undefined {
    return this.#problem;
  }

  #with(step: JournalStep): ReadonlyMap<string, JournalStep> {
    return new Map(this.#last).set(step.file, step);
  }

  /** Makes the file hold `next`; `step` is the one step that `next` has more than the file, if it is one. */
  async #save(next: ReadonlyMap<string, JournalStep>, step?: JournalStep): Promise<void> {
    const { file, standIn, sealed } = this.#location;
    try {
      if (sealed !== undefined) throw new Error(sealed);
      if (step === undefined || this.#lines === undefined || this.#lines >= COMPACT_AFTER + 2 * next.size) {
        await this.#replace(file, next);
        this.#lines = next.size;
      } else {
        await this.#disk.append(file, formatStep(step));
        await this.#disk.syncFile(file);
        this.#lines += 1;
      }
    } catch (error) {
      // The file may end in half a line, for instance on a full disk.
      this.#lines = undefined;
      this.#problem = `cannot write the journal ${file}: ${describeError(error)}`;
      throw error;
    }
    this.#last = next;
    this.#problem = undefined;
    if (!this.#isAhead) return;
    this.#isAhead = false;
    if (standIn !== undefined) await this.#disk.unlink(standIn).catch(() => undefined);
  }

  async #saveInStandIn(next: ReadonlyMap<string, JournalStep>): Promise<void> {
    const { standIn } = this.#location;
    this.#last = next;
    this.#isAhead = true;
    if (standIn === undefined) return;
    try {
      await ensureDirectory(this.#disk, path.dirname(standIn));
      await this.#replace(standIn, next);
    } catch {
      // The steps are kept in memory only.
    }
  }

  async #replace(target: string, next: ReadonlyMap<string, JournalStep>): Promise<void> {
    const disk = this.#disk;
    const temporary = `${target}.new`;
    // A crash or another program may have left a file of that name. The name is fixed, so there is never more than one.
    if ((await disk.identify(temporary)) !== undefined) await disk.unlink(temporary);
    await disk.create(temporary, 0o600);
    await disk.append(temporary, [...next.values()].map(formatStep).join(''));
    await disk.syncFile(temporary);
    await disk.rename(temporary, target);
    await disk.syncDirectory(path.dirname(target));
  }
}
