/** Whether what logind and systemd say together is a shutdown of this machine that the node is to be drained for. */
import { type ShutdownKind, shutdownKind } from './kind.ts';
import type { Origin, Shutdown } from './phase.ts';

/** A shutdown that logind has in mind; `at` is in milliseconds since the epoch, null where it has begun. */
export interface ScheduledShutdown {
  /** For example poweroff or reboot; with the prefix `dry-` nothing will happen. */
  readonly kind: string;
  readonly at: number | null;
}

/** What was read. */
export interface ShutdownReadings {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** logind's PreparingForShutdown; 'unknown' where logind is not on the bus. */
  readonly preparing: boolean | 'unknown';
  /** Whether systemd stops all units, or has that as a job. */
  readonly stopping: boolean;
  readonly scheduled: ScheduledShutdown | null;
  /** How long before its time a scheduled shutdown counts, in milliseconds; 0 for not before logind begins it. */
  readonly leadMs: number;
}

/** What logind answers. */
export interface LogindReadings extends Pick<ShutdownReadings, 'preparing' | 'scheduled'> {
  /** Undefined where it is not on the bus. */
  readonly processId: number | undefined;
  /** Whether it names the shutdown that it prepares. */
  readonly isNamed: boolean;
}

/** How logind and systemd announce a shutdown. */
export type MachineOrigin = Exclude<Origin, 'trigger' | 'notice'>;

/** A shutdown that logind prepared, and the process ID of that logind. */
export interface PreparedShutdown {
  readonly processId: number;
  readonly kind: ShutdownKind;
}

/** A scheduled shutdown whose time is over by more than this did not happen. */
const OVERDUE_MS = 60_000;

/** When the drain for a scheduled shutdown begins, in milliseconds since the epoch; undefined where it waits for logind. */
export function scheduledStart(scheduled: ScheduledShutdown | null, leadMs: number): number | undefined {
  if (scheduled === null || scheduled.at === null || leadMs === 0) return undefined;
  return shutdownKind(scheduled.kind) === undefined ? undefined : scheduled.at - leadMs;
}

/** What announces a shutdown of the machine; 'no' where nothing does, 'unknown' where logind cannot be asked. */
export function decideShutdown(readings: ShutdownReadings): MachineOrigin | 'no' | 'unknown' {
  const { now, preparing, stopping, scheduled, leadMs } = readings;
  if (preparing === true) return 'logind';
  if (stopping) return 'unit-stop';
  if (preparing === 'unknown') return 'unknown';
  const start = scheduledStart(scheduled, leadMs);
  return start !== undefined && now >= start && now < start + leadMs + OVERDUE_MS ? 'schedule' : 'no';
}

/**
 * Whether the shutdown that logind prepares was called off. logind cannot take it back (systemd 252): it goes on preparing it
 * until it is restarted, and at most names it no more (`shutdown -c`). Once systemd stops units, it is too late.
 */
export function isCalledOff(
  { processId, preparing, stopping, isNamed }: LogindReadings & Pick<ShutdownReadings, 'stopping'>,
  { voidLogind, namedBy }: Pick<Shutdown, 'voidLogind' | 'namedBy'>,
): boolean {
  if (preparing !== true || stopping || processId === undefined) return false;
  return processId === voidLogind || (processId === namedBy && !isNamed);
}

/** Who requested a shutdown, as far as logind knows. */
export interface ShutdownRequester {
  readonly kind?: ShutdownKind;
  readonly uid?: number;
  readonly tty?: string;
  /** The message to all users that was given with the request. */
  readonly wall?: string;
}

/**
 * Whether logind was restarted and has lost the shutdown that it prepared; `processId` is undefined where it is not on the bus. A logind that was not restarted and prepares none
 * any more has canceled it.
 */
export function isForgotten(
  prepared: PreparedShutdown | undefined,
  readings: Pick<ShutdownReadings, 'preparing' | 'stopping'> & { readonly processId: number | undefined },
): prepared is PreparedShutdown {
  const { processId, preparing, stopping } = readings;
  if (prepared === undefined || processId === undefined || preparing === true || stopping) return false;
  return prepared.processId !== processId;
}

/** A logind that an administrator restarts is back on the bus long before; after this time the agent restarts it. */
const LOST_MS = 10_000;

/**
 * Whether the logind that prepared a shutdown has been off the bus for so long that it is to be restarted; both times are
 * in milliseconds since the boot.
 */
export function isLost(lostAt: number | undefined, now: number): boolean {
  return lostAt !== undefined && now - lostAt >= LOST_MS;
}

/** What the reason of a shutdown is made of. */
export interface ReasonFacts {
  readonly requester: ShutdownRequester;
  /** The kind that systemd has queued as a job. */
  readonly queued: ShutdownKind | undefined;
  readonly scheduled: ScheduledShutdown | null;
}

/**
 * The kind of the shutdown that the machine announces in the way `origin`; undefined where neither systemd nor logind names
 * it. Where systemd stops the units by itself, what logind says may be about an earlier shutdown, that was canceled.
 */
export function announcedKind(
  origin: MachineOrigin,
  { requester, queued, scheduled }: ReasonFacts,
): ShutdownKind | undefined {
  if (origin === 'unit-stop') return queued;
  const later = origin === 'schedule' ? shutdownKind(scheduled?.kind) : undefined;
  return later ?? requester.kind;
}

/** The reason of the NodeMaintenance, for a shutdown that the machine announces in the way `origin`. */
export function shutdownReason(origin: MachineOrigin, { requester, queued, scheduled }: ReasonFacts): string {
  // logind's file about the requester concerns this shutdown only where logind does it, or will do it.
  const known = origin === 'unit-stop' ? {} : requester;
  return describeRequester(announcedKind(origin, { requester, queued, scheduled }) ?? 'shutdown', known);
}

/** The kind of a shutdown and who requested it, as a sentence for people. */
function describeRequester(kind: string, { uid, tty, wall }: ShutdownRequester): string {
  const who = uid === undefined ? '' : ` requested by ${uid === 0 ? 'root' : `uid ${uid}`}`;
  const where = tty === undefined ? '' : ` on ${tty}`;
  const why = wall === undefined ? '' : `: ${wall}`;
  return `node ${kind}${who}${where}${why}`;
}
