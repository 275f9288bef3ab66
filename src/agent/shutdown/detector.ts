import {
  announcedKind,
  decideShutdown,
  isCalledOff,
  isForgotten,
  isLost,
  type LogindReadings,
  type MachineOrigin,
  type PreparedShutdown,
  type ReasonFacts,
  type ScheduledShutdown,
  scheduledStart,
  shutdownReason,
  type ShutdownRequester,
} from '../../decide/shutdown/detection.ts';
import type { ShutdownKind } from '../../decide/shutdown/kind.ts';
import type { PhaseFacts, Shutdown } from '../../decide/shutdown/phase.ts';
import type { MachineCourse, Trigger } from '../../decide/shutdown/trigger.ts';
import { describeError } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';
import type { Login1 } from '../../host/systemd/logind.ts';
import type { Log } from '../../telemetry/log.ts';
import { createLogOnce, createWarnOnce, type LogOnce } from '../../telemetry/log-once.ts';
import type { Host } from './inhibitor-lock.ts';

type Held = Pick<Shutdown, 'voidLogind' | 'namedBy'>;

interface ShutdownDetectorDependencies {
  /** Without logind and systemd only the trigger counts. */
  readonly host: Host | undefined;
  /** The trigger that was given before this process started. */
  readonly triggered: Trigger | undefined;
  /** How long before its time a scheduled shutdown counts, in milliseconds. */
  readonly leadMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

const OFF_THE_BUS =
  'logind is not on the bus: a shutdown passes the lock by, only the stop of nodemaint.service holds it; run "systemctl restart systemd-logind"';

const LOGIND_UNIT = 'systemd-logind.service';

/** How logind and the shutdown that is held have parted. */
type Loss =
  /** It was restarted and knows nothing of it. */
  | { readonly kind: 'forgotten'; readonly shutdown: ShutdownKind }
  /**
   * It left the bus (systemd 257, after a restart of D-Bus): it cannot ask systemd for the way down any more, so the machine
   * would stand still, drained.
   */
  | { readonly kind: 'off-the-bus' }
  /** It prepares one that was called off, until it is restarted. */
  | { readonly kind: 'called-off' };

interface MachineReadings extends LogindReadings {
  /** Whether systemd stops all units, or has that as a job. */
  readonly stopping: boolean;
}

async function readLogind(login1: Login1, signal: AbortSignal): Promise<LogindReadings> {
  const processId = await login1.processId(signal);
  if (processId === undefined) return { processId, preparing: 'unknown', scheduled: null, isNamed: false };
  const preparing = await login1.preparingForShutdown(signal);
  const scheduled = await login1.scheduledShutdown(signal);
  return { processId, preparing, scheduled: preparing ? null : scheduled, isNamed: preparing && scheduled !== null };
}

/** Whether this machine is going down, as far as can be read now. */
export class ShutdownDetector {
  readonly #dependencies: ShutdownDetectorDependencies;
  /** The shutdown that a person has announced, and not taken back. */
  triggered: Trigger | undefined;
  #scheduled: ScheduledShutdown | null = null;
  /** The shutdown that logind prepares. A logind that is restarted forgets it. */
  #prepared: PreparedShutdown | undefined;
  /** Since when the logind that prepares a shutdown is not on the bus, in milliseconds since the boot. */
  #lostAt: number | undefined;
  /** What the last reading found lost; undefined before it, and where that has been restored. */
  #loss: Loss | undefined;
  readonly #warnUnasked: LogOnce;
  readonly #logOffTheBus: LogOnce;

  /** Nothing is asked of logind or systemd before the first reading. */
  constructor(dependencies: ShutdownDetectorDependencies) {
    const { log, triggered } = dependencies;
    this.#dependencies = dependencies;
    this.triggered = triggered;
    this.#warnUnasked = createWarnOnce(log, 'cannot ask logind or systemd whether the machine goes down');
    this.#logOffTheBus = createLogOnce((reason) => {
      log.error({ reason }, 'the hold on the machine is weaker than it should be');
    });
  }

  /** The shutdown that logind had scheduled for later at the last reading. */
  scheduled(): ScheduledShutdown | null {
    return this.#scheduled;
  }

  /** In how many milliseconds a scheduled shutdown begins to count, as of the last reading; Infinity for none. */
  beginsInMs(): number {
    const { leadMs, clock } = this.#dependencies;
    const start = scheduledStart(this.scheduled(), leadMs);
    return start === undefined ? Number.POSITIVE_INFINITY : Math.max(0, start - clock.now());
  }

  /** What the machine does without a trigger. */
  async course(signal: AbortSignal): Promise<MachineCourse> {
    const { host } = this.#dependencies;
    if (host === undefined) return { kind: 'up' };
    try {
      if (await host.systemd.isGoingDown(signal)) return { kind: 'stopping' };
      const { processId, preparing, scheduled } = await readLogind(host.login1, signal);
      if (processId === undefined) return { kind: 'unknown' };
      if (preparing === true) return { kind: 'prepared', logind: processId };
      return { kind: scheduled === null ? 'up' : 'scheduled' };
    } catch {
      return { kind: 'unknown' };
    }
  }

  /** Tells logind that the shutdown that it has scheduled is called off, as `shutdown -c` does. */
  async cancelScheduled(signal: AbortSignal): Promise<void> {
    await this.#dependencies.host?.login1.cancelScheduled(signal);
  }

  /**
   * Whether systemd itself is stopping units, so that no unit can be started any more. True also where systemd cannot be
   * asked: the caller has pods to wait for, and to go on is the safe side.
   */
  async managerStopping(signal: AbortSignal): Promise<boolean> {
    const { host } = this.#dependencies;
    if (host === undefined) return false;
    try {
      return (await host.systemd.systemState(signal)) === 'stopping';
    } catch {
      signal.throwIfAborted();
      return true;
    }
  }

  /**
   * Asks logind and systemd; 'unknown' where they cannot be asked, or have lost a shutdown that is to be restored. `held` is
   * what is known of the shutdown that is held, and says which one of logind was called off.
   */
  async read(held: Held, signal: AbortSignal): Promise<PhaseFacts['goingDown']> {
    const { host } = this.#dependencies;
    const announced = this.triggered === undefined ? undefined : announcedBy(this.triggered);
    // A trigger holds the machine whatever logind knows; what was called off before is ended all the same.
    if (announced !== undefined && held.voidLogind === undefined) return announced;
    if (host === undefined) return announced ?? { kind: 'no' };
    try {
      const read = await this.#readMachine(host, held, signal);
      this.#warnUnasked(undefined);
      return announced ?? read;
    } catch (error) {
      signal.throwIfAborted();
      this.#warnUnasked(describeError(error));
      return announced ?? { kind: 'unknown' };
    }
  }

  async #readMachine({ login1, systemd }: Host, held: Held, signal: AbortSignal): Promise<PhaseFacts['goingDown']> {
    this.#loss = undefined;
    const logind = await readLogind(login1, signal);
    this.#scheduled = logind.scheduled;
    const mayBeOff = isCalledOff({ ...logind, stopping: false }, held);
    const stopping = (mayBeOff || logind.preparing !== true) && (await systemd.isGoingDown(signal));
    const readings = { ...logind, stopping };
    if (mayBeOff && !stopping) {
      this.#prepared = undefined;
      this.#lostAt = undefined;
      this.#loss = { kind: 'called-off' };
      return { kind: 'no', ...(logind.processId === undefined ? {} : { voidLogind: logind.processId }) };
    }
    const prepared = this.#prepared;
    if (isForgotten(prepared, readings)) {
      this.#loss = { kind: 'forgotten', shutdown: prepared.kind };
      return { kind: 'unknown' };
    }
    this.#noteAbsence(readings);
    const { leadMs, clock } = this.#dependencies;
    const origin = decideShutdown({ ...readings, now: clock.now(), leadMs });
    if (origin === 'no') this.#prepared = undefined;
    this.#logOffTheBus(logind.processId === undefined ? OFF_THE_BUS : undefined);
    if (origin === 'no' || origin === 'unknown') return { kind: origin };
    const facts = await this.#readReason({ login1, systemd }, origin, logind, signal);
    const shutdownKind = announcedKind(origin, facts);
    const reason = shutdownReason(origin, facts);
    const namedBy = logind.isNamed && logind.processId !== undefined ? { namedBy: logind.processId } : {};
    return { kind: 'yes', origin, reason, ...(shutdownKind === undefined ? {} : { shutdownKind }), ...namedBy };
  }

  /**
   * Asks again for a shutdown that the last reading found lost, or restarts the logind that has lost it, or that still
   * prepares one that was called off. Throws what fails, which the next reading finds again.
   */
  async restore(signal: AbortSignal): Promise<void> {
    const { host, log } = this.#dependencies;
    const loss = this.#loss;
    if (host === undefined) return;
    // Whether logind is what holds the shutdown.
    const isHeld = this.triggered === undefined;
    this.#loss = undefined;
    if (loss?.kind === 'called-off') {
      log.warn({ unit: LOGIND_UNIT }, 'logind still prepares the shutdown that was called off, restarting it');
      // A logind that is started goes on with what it finds scheduled (systemd 251).
      await host.login1.cancelScheduled(signal);
      await host.systemd.restartUnit(LOGIND_UNIT, signal);
    }
    if (isHeld && loss?.kind === 'forgotten') {
      const kind = loss.shutdown;
      log.error({ kind }, 'logind was restarted and has forgotten the shutdown, asking for it again');
      await host.login1.request(kind, signal);
      // Only now: the next reading finds it lost again where the request failed.
      this.#prepared = undefined;
    }
    if (isHeld && loss?.kind === 'off-the-bus') {
      log.error({ unit: LOGIND_UNIT }, 'logind has left the bus in the middle of a shutdown, restarting it');
      await host.systemd.restartUnit(LOGIND_UNIT, signal);
    }
  }

  /** Notes since when a logind that prepared a shutdown is not on the bus, and after a while that it does not come back. */
  #noteAbsence({ processId, stopping }: MachineReadings): void {
    const isAway = processId === undefined && !stopping && this.#prepared !== undefined;
    const now = this.#dependencies.clock.monotonic();
    this.#lostAt = isAway ? (this.#lostAt ?? now) : undefined;
    if (!isLost(this.#lostAt, now)) return;
    // The time begins again: a logind that is restarted is given as long as one that left by itself.
    this.#lostAt = undefined;
    this.#loss = { kind: 'off-the-bus' };
  }

  /** What the reason and the kind of the shutdown are made of. Remembers one that logind prepares, for the case that logind is restarted. */
  async #readReason(
    { login1, systemd }: Host,
    origin: MachineOrigin,
    { processId, scheduled }: LogindReadings,
    signal: AbortSignal,
  ): Promise<ReasonFacts> {
    const isPresent = processId !== undefined;
    const requester = isPresent ? await login1.shutdownRequester(signal).catch((): ShutdownRequester => ({})) : {};
    signal.throwIfAborted();
    const { kind } = requester;
    if (origin === 'logind' && isPresent && kind !== undefined) this.#prepared = { processId, kind };
    const queued = origin === 'unit-stop' ? await systemd.queuedShutdown(signal) : undefined;
    return { requester, queued, scheduled };
  }
}

/** What a trigger announces. */
function announcedBy({ reason, deadline }: Trigger): PhaseFacts['goingDown'] {
  const limit = deadline === undefined ? {} : { triggerDeadline: deadline };
  return { kind: 'yes', origin: 'trigger', reason, ...limit };
}
