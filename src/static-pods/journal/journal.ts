/**
 * The journal of the mover: what it is about to do, made durable before it does it. The parked directory says which
 * manifests are parked; the journal says why, since when and what they were, and which way an interrupted move was
 * going. One JSON line a step, each with a checksum; a torn last line is an interrupted write and is dropped, anything
 * else is corruption. Lines are only ever added; the whole is replaced by an atomic compaction.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import * as z from 'zod';
import { describeError, errorCodeOf, NodemaintError } from '../../errors.ts';
import type { Disk } from '../disk.ts';
import { ensureDirectory } from '../ensure-directory.ts';

/** The pod that the kubelet made of the manifest when it was parked: what is in the file may change or be unreadable. */
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
  /** The whole path that the manifest had, and the directory it was parked in. */
  path: z.string(),
  parkedPath: z.string(),
  mode: z.number(),
  uid: z.number(),
  gid: z.number(),
  /** Whether a file system was mounted at the static pod directory. */
  mountPoint: z.boolean(),
});
const parkSchema = z.object({
  op: z.literal('park'),
  file: z.string(),
  sha256: z.string(),
  maintenance: z.string(),
  at: z.number(),
  bootId: z.string(),
  /** Whether `maintenance` is a shutdown of this node that its agent made: the boot after it ends it. */
  shutdown: z.boolean().optional(),
  pod: podSchema.optional(),
  origin: originSchema.optional(),
});
/** `parked`: the step that parked it, which is still true if the restore does not succeed. */
const restoreSchema = z.object({ op: z.literal('restore'), file: z.string(), parked: parkSchema.optional() });
const stepSchema = z.discriminatedUnion('op', [parkSchema, restoreSchema]);

/** The intent to park a manifest. The mover itself sets `origin` and `sha256`, from the file. */
export type ParkStep = z.infer<typeof parkSchema>;
/** One step of the mover. */
export type JournalStep = z.infer<typeof stepSchema>;

const CHECKSUM_LENGTH = 16;
/** A writer that fights over a file must not make the journal grow without end. */
const COMPACT_AFTER = 256;

function checksum(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, CHECKSUM_LENGTH);
}

/** The line of a step, with its newline; of what a caller adds to a step, nothing is written. */
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

/** What a journal holds: the steps that can be read, and the numbers of the lines that cannot, but for a torn end. */
export function readSteps(text: string): {
  readonly steps: readonly JournalStep[];
  readonly damaged: readonly number[];
} {
  const lines = text.split('\n');
  // An interrupted write: the step was not taken.
  if (parseLine(lines.at(-1) ?? '') === undefined) lines.pop();
  const parsed = lines.map((line, index) => parseLine(line) ?? index + 1);
  return {
    steps: parsed.filter((line) => typeof line !== 'number'),
    damaged: parsed.filter((line) => typeof line === 'number'),
  };
}

/** Parses a journal; throws JOURNAL_CORRUPT, naming the line, for anything but a torn end. */
export function parseJournal(text: string, path: string): readonly JournalStep[] {
  const { steps, damaged } = readSteps(text);
  if (damaged.length === 0) return steps;
  const message = `line ${damaged[0]} of the journal ${path} is damaged; the manifests are safe in the parked directory`;
  throw new NodemaintError('JOURNAL_CORRUPT', message);
}

/** The step that parked the file of `step`, where it is known. */
export function parkStepOf(step: JournalStep | undefined): ParkStep | undefined {
  return step?.op === 'park' ? step : step?.parked;
}

/** The last step of each file. */
export function lastSteps(steps: readonly JournalStep[]): ReadonlyMap<string, JournalStep> {
  return new Map(steps.map((step) => [step.file, step]));
}

/** The text of a file; undefined where there is none. Throws what the disk does. */
export async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Reads the journal, changing nothing; an absent one is empty. Throws JOURNAL_CORRUPT, and what the disk does. */
export async function readJournal(file: string, standIn?: string): Promise<readonly JournalStep[]> {
  const ahead = standIn === undefined ? undefined : await readIfThere(standIn);
  if (ahead !== undefined) return readSteps(ahead).steps;
  return parseJournal((await readIfThere(file)) ?? '', file);
}

/** The journal, opened by its one writer. */
export interface Journal {
  /** The last step of each file. */
  last(): ReadonlyMap<string, JournalStep>;
  /** Adds a step and makes it durable; throws what the disk does, and the step is then not in it. */
  append(step: JournalStep): Promise<void>;
  /**
   * Adds a step as durably as can be: on the disk, else in the stand-in, which outlives the process and not the boot, else
   * in memory. Never fails.
   */
  note(step: JournalStep): Promise<void>;
  /** Forgets the steps of files that are not parked; on the disk as far as that takes it. Never fails. */
  compact(parked: ReadonlySet<string>): Promise<void>;
  /** Tries again what the disk did not take. Never fails. */
  retry(): Promise<void>;
  /** Why the last write failed; undefined where the disk has all steps. */
  problem(): string | undefined;
}

/** Where a journal is kept. */
export interface JournalPlace {
  readonly file: string;
  /** On a file system in memory, for steps that the disk does not take. */
  readonly standIn?: string | undefined;
  /** Why the file may not be written: there is something in it that cannot be read. */
  readonly sealed?: string | undefined;
}

/** Makes a writer that goes on after `steps`, which were read. */
export function createJournal(place: JournalPlace, disk: Disk, steps: readonly JournalStep[]): Journal {
  const { file, standIn, sealed } = place;
  let last: ReadonlyMap<string, JournalStep> = lastSteps(steps);
  // The end of the file may be torn: the first step starts a new one.
  let lines = Number.POSITIVE_INFINITY;
  let problem = sealed;
  /** Whether there are steps that the file does not have. */
  let isAhead = false;

  const replace = async (target: string, next: ReadonlyMap<string, JournalStep>): Promise<void> => {
    const temporary = `${target}.new`;
    // What a crash left there, or anybody else: the name is fixed, so that there is never more than one.
    if ((await disk.identify(temporary)) !== undefined) await disk.unlink(temporary);
    await disk.create(temporary, 0o600);
    await disk.append(temporary, [...next.values()].map(formatStep).join(''));
    await disk.syncFile(temporary);
    await disk.rename(temporary, target);
    await disk.syncDirectory(path.dirname(target));
  };

  /** Makes the file hold `next`; `step` is what `next` has more than the file, where that is one step. */
  const save = async (next: ReadonlyMap<string, JournalStep>, step?: JournalStep): Promise<void> => {
    try {
      if (sealed !== undefined) throw new Error(sealed);
      if (step === undefined || lines >= COMPACT_AFTER + 2 * next.size) {
        await replace(file, next);
        lines = next.size;
      } else {
        await disk.append(file, formatStep(step));
        await disk.syncFile(file);
        lines += 1;
      }
    } catch (error) {
      // Half a line may be at the end, as on a full disk: the next step starts a new file.
      lines = Number.POSITIVE_INFINITY;
      problem = `cannot write the journal ${file}: ${describeError(error)}`;
      throw error;
    }
    last = next;
    problem = undefined;
    if (!isAhead) return;
    isAhead = false;
    if (standIn !== undefined) await disk.unlink(standIn).catch(() => undefined);
  };

  const saveBeside = async (next: ReadonlyMap<string, JournalStep>): Promise<void> => {
    last = next;
    isAhead = true;
    if (standIn === undefined) return;
    try {
      await ensureDirectory(disk, path.dirname(standIn));
      await replace(standIn, next);
    } catch {
      // Memory is what is left.
    }
  };

  const withStep = (step: JournalStep): ReadonlyMap<string, JournalStep> => new Map(last).set(step.file, step);
  return {
    last: () => last,
    append: (step) => save(withStep(step), step),
    note: (step) => save(withStep(step), step).catch(() => saveBeside(withStep(step))),
    compact: async (parked) => {
      const next = new Map([...last].filter(([name]) => parked.has(name)));
      await save(next).catch(() => undefined);
    },
    retry: async () => {
      if (problem !== undefined) await save(last).catch(() => undefined);
    },
    problem: () => problem,
  };
}
