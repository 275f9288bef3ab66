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
import { errorCodeOf, NodemaintError } from '../errors.ts';
import type { Disk } from './disk.ts';

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
  const parsed = stepSchema.safeParse(JSON.parse(text));
  return parsed.success ? parsed.data : undefined;
}

/** Parses a journal; throws JOURNAL_CORRUPT, naming the line, for anything but a torn end. */
export function parseJournal(text: string, path: string): readonly JournalStep[] {
  const lines = text.split('\n');
  const torn = lines.pop() ?? '';
  const steps = lines.map((line, index) => {
    const step = parseLine(line);
    if (step !== undefined) return step;
    throw new NodemaintError(
      'JOURNAL_CORRUPT',
      `line ${index + 1} of the journal ${path} is damaged; the manifests are safe in the parked directory: check them, then move the journal away and start the agent again`,
    );
  });
  const last = torn === '' ? undefined : parseLine(torn);
  return last === undefined ? steps : [...steps, last];
}

/** The step that parked the file of `step`, where it is known. */
export function parkStepOf(step: JournalStep | undefined): ParkStep | undefined {
  return step?.op === 'park' ? step : step?.parked;
}

/** The last step of each file. */
export function lastSteps(steps: readonly JournalStep[]): ReadonlyMap<string, JournalStep> {
  return new Map(steps.map((step) => [step.file, step]));
}

/** Reads the journal; an absent one is empty. */
export async function readJournal(path: string): Promise<readonly JournalStep[]> {
  try {
    return parseJournal(await readFile(path, 'utf8'), path);
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

/** The journal, opened by its one writer. */
export interface Journal {
  /** The last step of each file. */
  last(): ReadonlyMap<string, JournalStep>;
  /** Adds a step and makes it durable. */
  append(step: JournalStep): Promise<void>;
  /** Forgets, as one durable change, the steps of files that are not parked. */
  compact(parked: ReadonlySet<string>): Promise<void>;
}

/** Makes a writer that goes on after `steps`, which were read. Compact it before the first step: its end may be torn. */
export function createJournal(file: string, disk: Disk, steps: readonly JournalStep[]): Journal {
  let last = new Map(lastSteps(steps));
  let lines = 0;

  const replace = async (next: Map<string, JournalStep>): Promise<void> => {
    const temporary = `${file}.new`;
    await disk.create(temporary, 0o600);
    await disk.append(temporary, [...next.values()].map(formatStep).join(''));
    await disk.syncFile(temporary);
    await disk.rename(temporary, file);
    await disk.syncDirectory(path.dirname(file));
    lines = next.size;
    last = next;
  };

  return {
    last: () => last,
    append: async (step) => {
      if (lines >= COMPACT_AFTER + 2 * last.size) await replace(last);
      try {
        await disk.append(file, formatStep(step));
        await disk.syncFile(file);
      } catch (error) {
        // Half a line may be at the end, as on a full disk: the next step starts a new file.
        lines = Number.POSITIVE_INFINITY;
        throw error;
      }
      lines += 1;
      last.set(step.file, step);
    },
    compact: (parked) => replace(new Map([...last].filter(([name]) => parked.has(name)))),
  };
}
