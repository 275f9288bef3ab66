/** Whether what logind and systemd say together is a shutdown of this machine that the node is to be drained for. */
import type { Origin } from './phase.ts';

/** Ways down, as logind and systemd name them (org.freedesktop.login1(5), systemd.special(7)). */
export const SHUTDOWN_KINDS = ['poweroff', 'reboot', 'halt', 'kexec', 'soft-reboot'] as const;
export type ShutdownKind = (typeof SHUTDOWN_KINDS)[number];

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

/** A scheduled shutdown whose time is over by more than this did not happen. */
const OVERDUE_MS = 60_000;

/** The kind that `text` names, if it names one that will happen. */
export function shutdownKind(text: string | undefined): ShutdownKind | undefined {
  return SHUTDOWN_KINDS.find((kind) => kind === text);
}

/** When the drain for a scheduled shutdown begins, in milliseconds since the epoch; undefined where it waits for logind. */
export function scheduledStart(scheduled: ScheduledShutdown | null, leadMs: number): number | undefined {
  if (scheduled === null || scheduled.at === null || leadMs === 0) return undefined;
  return shutdownKind(scheduled.kind) === undefined ? undefined : scheduled.at - leadMs;
}

/** Who says that the machine goes down; 'no' where nobody does, 'unknown' where the one that would was not heard. */
export function decideShutdown(readings: ShutdownReadings): Exclude<Origin, 'trigger'> | 'no' | 'unknown' {
  const { now, preparing, stopping, scheduled, leadMs } = readings;
  if (preparing === true) return 'logind';
  if (stopping) return 'unit-stop';
  if (preparing === 'unknown') return 'unknown';
  const start = scheduledStart(scheduled, leadMs);
  return start !== undefined && now >= start && now < start + leadMs + OVERDUE_MS ? 'schedule' : 'no';
}

/** Who requested a shutdown, as far as logind knows. */
export interface ShutdownRequester {
  readonly kind?: ShutdownKind;
  readonly uid?: number;
  readonly tty?: string;
  /** The message to all users that was given with the request. */
  readonly wall?: string;
}

/** Who asked, in words, for the reason of the maintenance. */
export function describeRequester(kind: string, { uid, tty, wall }: ShutdownRequester): string {
  const who = uid === undefined ? '' : ` requested by ${uid === 0 ? 'root' : `uid ${uid}`}`;
  const where = tty === undefined ? '' : ` on ${tty}`;
  const why = wall === undefined ? '' : `: ${wall}`;
  return `node ${kind}${who}${where}${why}`;
}
