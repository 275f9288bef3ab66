import { mkdir, readFile, rename } from 'node:fs/promises';
import path from 'node:path';
import * as z from 'zod';
import type { DrainPlanEntry } from '../api/node-maintenance.ts';
import type { Phase } from '../decide/shutdown-phase.ts';
import { describeError, NodemaintError } from '../errors.ts';
import { replaceFile } from '../host/durable-file.ts';

/** What a restarted agent, or the agent after a reboot, has to know. */
export interface AgentRecord {
  readonly phase: Phase;
  /** The drain targets of a local drain, which never go back. */
  readonly localTargets: readonly DrainPlanEntry[];
}

const shutdown = {
  maintenance: z.string(),
  mode: z.enum(['cluster', 'local']),
  origin: z.enum(['logind', 'unit-stop', 'schedule', 'trigger', 'notice']),
  reason: z.string(),
  since: z.number(),
  sinceBootMs: z.number().exactOptional(),
  bootId: z.string(),
  deadline: z.object({ at: z.number(), since: z.number() }).exactOptional(),
};

const VERSION = 1;

/** The version that a record claims; undefined where it claims none. */
function versionOf(text: string): number | undefined {
  try {
    return z.object({ version: z.int() }).safeParse(JSON.parse(text)).data?.version;
  } catch {
    return undefined;
  }
}

const recordSchema = z.object({
  version: z.literal(VERSION),
  phase: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('watching') }),
    z.object({ kind: z.literal('draining'), ...shutdown }),
    z.object({ kind: z.literal('released'), releasedAt: z.number(), forced: z.string().exactOptional(), ...shutdown }),
    z.object({ kind: z.literal('recovering'), cause: z.enum(['boot', 'canceled']), ...shutdown }),
  ]),
  localTargets: z.array(z.custom<DrainPlanEntry>((value) => typeof value === 'object' && value !== null)),
});

const EMPTY: AgentRecord = { phase: { kind: 'watching' }, localTargets: [] };

/** The record's place in the state directory. */
export function recordPath(stateDirectory: string): string {
  return path.join(stateDirectory, 'record.json');
}

/** Writes the record as one durable step. */
export async function writeRecord(stateDirectory: string, record: AgentRecord): Promise<void> {
  await replaceFile(recordPath(stateDirectory), `${JSON.stringify({ version: VERSION, ...record }, null, 2)}\n`, 0o600);
}

/**
 * Reads the record; an absent one is empty. A damaged one is moved aside, for a person to look at, and reported through
 * `onDamage`: what is parked is known from the journal, so nothing is lost with it.
 */
export async function readRecord(
  stateDirectory: string,
  onDamage: (error: NodemaintError) => void,
): Promise<AgentRecord> {
  await mkdir(stateDirectory, { recursive: true, mode: 0o700 });
  const file = recordPath(stateDirectory);
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return EMPTY;
    throw new NodemaintError('RECORD_CORRUPT', `cannot read the record ${file}: ${describeError(error)}`, {
      cause: error,
    });
  }
  try {
    return recordSchema.parse(JSON.parse(text));
  } catch (error) {
    const version = versionOf(text);
    const isNewer = version !== undefined && version > VERSION;
    const aside = isNewer ? `${file}.version-${version}` : `${file}.damaged`;
    await rename(file, aside);
    const why = isNewer
      ? `was written by a newer nodemaint (version ${version}, this one knows ${VERSION})`
      : 'is damaged';
    const message = `the record ${file} ${why} and was moved to ${aside}`;
    onDamage(new NodemaintError('RECORD_CORRUPT', message, { cause: error }));
    return EMPTY;
  }
}
