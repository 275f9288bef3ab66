import * as z from 'zod';
import type { DrainPlanEntry } from '../../api/node-maintenance.ts';
import { SHUTDOWN_KINDS } from '../../decide/shutdown/kind.ts';
import { type LastShutdown, SHUTDOWN_RESULTS } from '../../decide/presence/last-shutdown.ts';
import type { Canceler, Phase } from '../../decide/shutdown/phase.ts';
import { NodemaintError } from '../../errors.ts';
import type { StateFiles } from '../../host/files/state-files.ts';

/** What the agent remembers over its restarts and over reboots: the file record.json of the state directory. */
export interface AgentRecord {
  readonly phase: Phase;
  /** The drain targets that an offline drain has reached. Targets are added and never taken away. */
  readonly offlineTargets: readonly DrainPlanEntry[];
  /** Absent where no shutdown has ended yet, and in records of older agents. */
  readonly last?: LastShutdown;
}

const shutdown = {
  maintenance: z.string(),
  renamed: z.object({ from: z.array(z.string()), deleted: z.number(), sinceBootMs: z.number() }).exactOptional(),
  mode: z.enum(['cluster', 'offline']),
  origin: z.enum(['logind', 'unit-stop', 'schedule', 'trigger', 'notice']),
  reason: z.string(),
  // Agents before 0.3.0 had other words for who was not root.
  canceledBy: z
    .string()
    .transform((word): Canceler => (word === 'logind' ? word : 'root'))
    .exactOptional(),
  voidLogind: z.number().exactOptional(),
  namedBy: z.number().exactOptional(),
  since: z.number(),
  sinceBootMs: z.number().exactOptional(),
  bootId: z.string(),
  deadline: z
    .object({
      at: z.number(),
      since: z.number(),
      of: z.literal('trigger').exactOptional(),
      isHold: z.literal(true).exactOptional(),
    })
    .exactOptional(),
  withdrawnDeadline: z.number().exactOptional(),
  completed: z.object({ sinceBootMs: z.number() }).exactOptional(),
  refusal: z.string().exactOptional(),
  shutdownKind: z.enum(SHUTDOWN_KINDS).exactOptional(),
  stand: z.enum(['waits', 'guarded', 'asks', 'ends']).exactOptional(),
};

const VERSION = 2;

/** Version 1 had the mode "local" for "offline", and "localTargets" for "offlineTargets". */
const versionOneSchema = z.looseObject({
  version: z.literal(1),
  phase: z.looseObject({ mode: z.unknown().optional() }),
  localTargets: z.unknown(),
});

/** A record of an earlier version in the words of this one; any other value is returned as it is. */
function upgraded(value: unknown): unknown {
  const old = versionOneSchema.safeParse(value).data;
  if (old === undefined) return value;
  const { localTargets: offlineTargets, phase, ...rest } = old;
  const renamed = phase.mode === 'local' ? { ...phase, mode: 'offline' } : phase;
  return { ...rest, version: VERSION, phase: renamed, offlineTargets };
}

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
  offlineTargets: z.array(z.custom<DrainPlanEntry>((value) => typeof value === 'object' && value !== null)),
  last: z.object({ result: z.enum(SHUTDOWN_RESULTS), at: z.number().min(0).max(8.64e15) }).exactOptional(),
});

const EMPTY: AgentRecord = { phase: { kind: 'watching' }, offlineTargets: [] };

export const RECORD_FILE = 'record.json';

/** Writes the record in one durable step. Never throws: `StateFiles` keeps what the disk does not take. */
export async function writeRecord(state: StateFiles, record: AgentRecord): Promise<void> {
  await state.write(RECORD_FILE, `${JSON.stringify({ version: VERSION, ...record }, null, 2)}\n`);
}

/**
 * Reads the record; without one, the agent watches. A damaged record, or one of a newer version, is moved aside for a
 * person to look at and given to `onDamage` as RECORD_CORRUPT. No manifest is lost with it: the journal knows what is parked.
 */
export async function readRecord(state: StateFiles, onDamage: (error: NodemaintError) => void): Promise<AgentRecord> {
  const text = await state.read(RECORD_FILE);
  if (text === undefined) return EMPTY;
  try {
    return recordSchema.parse(upgraded(JSON.parse(text)));
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
