import * as z from 'zod';
import type { DrainPlanEntry } from '../../api/node-maintenance.ts';
import type { Phase } from '../../decide/shutdown/phase.ts';
import { NodemaintError } from '../../errors.ts';
import type { StateFiles } from '../../host/files/state-files.ts';

/** What a restarted agent, or the agent after a reboot, has to know. */
export interface AgentRecord {
  readonly phase: Phase;
  /** The drain targets of a local drain, which never go back. */
  readonly localTargets: readonly DrainPlanEntry[];
}

const shutdown = {
  maintenance: z.string(),
  renamed: z.object({ from: z.array(z.string()), deleted: z.number(), sinceBootMs: z.number() }).exactOptional(),
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
    z.object({
      kind: z.literal('released'),
      releasedAt: z.number(),
      releasedSinceBootMs: z.number().exactOptional(),
      forced: z.string().exactOptional(),
      ...shutdown,
    }),
    z.object({ kind: z.literal('recovering'), cause: z.enum(['boot', 'canceled']), ...shutdown }),
  ]),
  localTargets: z.array(z.custom<DrainPlanEntry>((value) => typeof value === 'object' && value !== null)),
});

const EMPTY: AgentRecord = { phase: { kind: 'watching' }, localTargets: [] };

/** The record's file in the state directory. */
export const RECORD_FILE = 'record.json';

/** Writes the record as one durable step; never fails, as `StateFiles` does not. */
export async function writeRecord(state: StateFiles, record: AgentRecord): Promise<void> {
  await state.write(RECORD_FILE, `${JSON.stringify({ version: VERSION, ...record }, null, 2)}\n`);
}

/**
 * Reads the record; an absent or unreadable one is empty. A damaged one is moved aside, for a person to look at, and
 * reported through `onDamage`: what is parked is known from the journal, so nothing is lost with it.
 */
export async function readRecord(state: StateFiles, onDamage: (error: NodemaintError) => void): Promise<AgentRecord> {
  const text = await state.read(RECORD_FILE);
  if (text === undefined) return EMPTY;
  try {
    return recordSchema.parse(JSON.parse(text));
  } catch (error) {
    const version = versionOf(text);
    const isNewer = version !== undefined && version > VERSION;
    const aside = await state.setAside(RECORD_FILE, isNewer ? `version-${version}` : 'damaged');
    const why = isNewer
      ? `was written by a newer nodemaint (version ${version}, this one knows ${VERSION})`
      : 'is damaged';
    const where = aside === undefined ? 'could not be moved aside' : `was moved to ${aside}`;
    const message = `the record ${RECORD_FILE} ${why} and ${where}`;
    onDamage(new NodemaintError('RECORD_CORRUPT', message, { cause: error }));
    return EMPTY;
  }
}
