/**
 * The journal of the mover: what it is about to do, made durable before it does it. The parked directory says which
 * manifests are parked; the journal says why and since when, and which way an interrupted move was going. One JSON line
 * a step, each with a checksum; a torn last line is an interrupted write and is dropped, anything else is corruption.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import * as z from 'zod';
import { NodemaintError } from '../errors.ts';

const parkSchema = z.object({
  op: z.literal('park'),
  file: z.string(),
  sha256: z.string(),
  maintenance: z.string(),
  at: z.number(),
  bootId: z.string(),
});
const stepSchema = z.discriminatedUnion('op', [parkSchema, z.object({ op: z.literal('restore'), file: z.string() })]);

/** The intent to park a manifest. */
export type ParkStep = z.infer<typeof parkSchema>;
/** One step of the mover. */
export type JournalStep = z.infer<typeof stepSchema>;

const CHECKSUM_LENGTH = 16;

function checksum(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, CHECKSUM_LENGTH);
}

/** The line of a step, with its newline. */
export function formatStep(step: JournalStep): string {
  const text = JSON.stringify(step);
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

/** The last step of each file. */
export function lastSteps(steps: readonly JournalStep[]): ReadonlyMap<string, JournalStep> {
  return new Map(steps.map((step) => [step.file, step]));
}

/** Reads the journal; an absent one is empty. */
export async function readJournal(path: string): Promise<readonly JournalStep[]> {
  try {
    return parseJournal(await readFile(path, 'utf8'), path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
