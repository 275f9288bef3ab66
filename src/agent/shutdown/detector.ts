import {
  decideShutdown,
  describeRequester,
  type ScheduledShutdown,
  scheduledStart,
  type ShutdownKind,
  type ShutdownRequester,
} from '../../decide/shutdown/detection.ts';
import type { PhaseFacts } from '../../decide/shutdown/phase.ts';
import { describeError } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';
import type { Login1 } from '../../host/systemd/login1.ts';
import type { Systemd } from '../../host/systemd/systemd1.ts';
import type { Log } from '../../telemetry/log.ts';

/** Whether this machine is going down, as far as can be read now. */
export interface ShutdownDetector {
  read(signal: AbortSignal): Promise<PhaseFacts['goingDown']>;
  /** The shutdown that logind had scheduled for later when it was read last. */
  scheduled(): ScheduledShutdown | null;
  /** In how many milliseconds a scheduled shutdown will begin to count, as of the last reading; Infinity for none. */
  beginsInMs(): number;
  /**
   * Whether systemd itself is stopping units, so that no unit can be started any more. True also where systemd cannot be
   * asked: who asks has pods to wait for, and staying is the safe side.
   */
  managerStopping(signal: AbortSignal): Promise<boolean>;
  /** Announces a shutdown that a person triggers; `undefined` withdraws it. */
  trigger(reason: string | undefined): void;
}

export interface ShutdownDetectorDependencies {
  /** Without logind and systemd only the trigger counts. */
  readonly host: { readonly login1: Login1; readonly systemd: Systemd } | undefined;
  /** The reason of a trigger that was given before this process started. */
  readonly triggered: string | undefined;
  /** How long before its time a scheduled shutdown counts, in milliseconds. */
  readonly leadMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

const OFF_THE_BUS =
  'logind is not on the bus: a shutdown passes the lock by, only the stop of nodemaint.service holds it; run "systemctl restart systemd-logind"';

const LOGIND_UNIT = 'systemd-logind.service';
/** A logind that somebody restarts is back on the bus long before. */
const LOST_MS = 10_000;

export function createShutdownDetector({
  host,
  triggered,
  leadMs,
  clock,
  log,
}: ShutdownDetectorDependencies): ShutdownDetector {
  let triggerReason = triggered;
  let scheduled: ScheduledShutdown | null = null;
  /** The shutdown that logind prepares, which it would forget in a restart. */
  let pending: { readonly processId: number; readonly kind: ShutdownKind } | undefined;
  /** Since when the logind that prepares a shutdown is not on the bus. */
  let lostAt: number | undefined;
  let complained = '';

  /**
   * Restarts a logind that left the bus while it prepared a shutdown (systemd 257, after a restart of D-Bus): it cannot ask
   * systemd for the way down any more, so the machine would stand still, drained.
   */
  const bringLogindBack = async (systemd: Systemd, signal: AbortSignal): Promise<void> => {
    lostAt ??= clock.monotonic();
    if (clock.monotonic() - lostAt < LOST_MS) return;
    lostAt = undefined;
    log.error({ unit: LOGIND_UNIT }, 'logind has left the bus in the middle of a shutdown, restarting it');
    await systemd.restartUnit(LOGIND_UNIT, signal);
  };

  const complain = (level: 'warn' | 'error', reason: string, message: string): void => {
    if (reason !== complained) log[level]({ reason }, message);
    complained = reason;
  };
  const readMachine = async (
    { login1, systemd }: NonNullable<ShutdownDetectorDependencies['host']>,
    signal: AbortSignal,
  ): Promise<PhaseFacts['goingDown']> => {
    const processId = await login1.processId(signal);
    const present = processId !== undefined;
    const preparing = present ? await login1.preparingForShutdown(signal) : 'unknown';
    scheduled = present && preparing === false ? await login1.scheduledShutdown(signal) : null;
    const stopping = preparing !== true && (await systemd.isGoingDown(signal));
    if (present && !preparing && !stopping && pending !== undefined && pending.processId !== processId) {
      // A shutdown that is called off is forgotten by the same logind; one that was restarted has only lost it.
      const { kind } = pending;
      log.error({ kind }, 'logind was restarted and has forgotten the shutdown, asking for it again');
      await login1.request(kind, signal);
      // Only now: a request that fails is made again by the next look.
      pending = undefined;
      return await readMachine({ login1, systemd }, signal);
    }
    if (present || stopping || pending === undefined) lostAt = undefined;
    else await bringLogindBack(systemd, signal);
    const origin = decideShutdown({ now: clock.now(), preparing, stopping, scheduled, leadMs });
    if (origin === 'no') pending = undefined;
    if (present) complained = '';
    else complain('error', OFF_THE_BUS, 'the hold on the machine is weaker than it should be');
    if (origin === 'no' || origin === 'unknown') return { kind: origin };
    const requester = present ? await login1.shutdownRequester(signal).catch((): ShutdownRequester => ({})) : {};
    signal.throwIfAborted();
    if (origin === 'logind' && present && requester.kind !== undefined) {
      pending = { processId, kind: requester.kind };
    }
    // The schedule's file is about this one only where logind does the shutdown, or will.
    const known = origin === 'unit-stop' ? {} : requester;
    const queued = origin === 'unit-stop' ? await systemd.queuedShutdown(signal) : undefined;
    const ahead = origin === 'schedule' ? scheduled?.kind : undefined;
    return { kind: 'yes', origin, reason: describeRequester(queued ?? ahead ?? requester.kind ?? 'shutdown', known) };
  };

  return {
    scheduled: () => scheduled,
    beginsInMs: () => {
      const start = scheduledStart(scheduled, leadMs);
      return start === undefined ? Number.POSITIVE_INFINITY : Math.max(0, start - clock.now());
    },
    trigger: (reason) => {
      triggerReason = reason;
    },
    managerStopping: async (signal) => {
      if (host === undefined) return false;
      try {
        return (await host.systemd.systemState(signal)) === 'stopping';
      } catch {
        signal.throwIfAborted();
        return true;
      }
    },
    read: async (signal) => {
      if (triggerReason !== undefined) return { kind: 'yes', origin: 'trigger', reason: triggerReason };
      if (host === undefined) return { kind: 'no' };
      try {
        return await readMachine(host, signal);
      } catch (error) {
        signal.throwIfAborted();
        complain('warn', describeError(error), 'cannot ask logind or systemd whether the machine goes down');
        return { kind: 'unknown' };
      }
    },
  };
}
