import {
  announcedKind,
  decideShutdown,
  isForgotten,
  isLost,
  type MachineOrigin,
  type PreparedShutdown,
  type ReasonFacts,
  type ScheduledShutdown,
  scheduledStart,
  shutdownReason,
  type ShutdownReadings,
  type ShutdownRequester,
} from '../../decide/shutdown/detection.ts';
import type { ShutdownKind } from '../../decide/shutdown/kind.ts';
import type { ControlClient, PhaseFacts } from '../../decide/shutdown/phase.ts';
import type { Trigger } from '../../decide/shutdown/trigger.ts';
import { describeError } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';
import type { Login1 } from '../../host/systemd/login1.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Host } from './lock-kind.ts';

/** Whether this machine is going down, as far as can be read now. */
export interface ShutdownDetector {
  /** Asks logind and systemd; 'unknown' where they cannot be asked, or have lost a shutdown that is to be restored. */
  read(signal: AbortSignal): Promise<PhaseFacts['goingDown']>;
  /** Asks again for a shutdown that the last reading found lost, or restarts the logind that has lost it. */
  restore(signal: AbortSignal): Promise<void>;
  /** The shutdown that logind had scheduled for later at the last reading. */
  scheduled(): ScheduledShutdown | null;
  /** In how many milliseconds a scheduled shutdown begins to count, as of the last reading; Infinity for none. */
  beginsInMs(): number;
  /**
   * Whether systemd itself is stopping units, so that no unit can be started any more. True also where systemd cannot be
   * asked: the caller has pods to wait for, and to go on is the safe side.
   */
  managerStopping(signal: AbortSignal): Promise<boolean>;
  /** Announces a shutdown that a person triggers. */
  trigger(trigger: Trigger): void;
  /** Takes the trigger back, where one applies; `by` says who does so. */
  withdraw(by: ControlClient): void;
  /** Forgets the trigger of a shutdown that is over, and who took it back. */
  forgetTrigger(): void;
  /** The trigger that applies; undefined where there is none. */
  triggered(): Trigger | undefined;
  /** Whether the machine goes down without a trigger. True also where logind or systemd cannot be asked. */
  goesDown(signal: AbortSignal): Promise<boolean>;
}

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

/** What earlier readings found and the next one has to know; replaced as a whole. */
interface Observation {
  readonly scheduled: ScheduledShutdown | null;
  /** The shutdown that logind prepares. A logind that is restarted forgets it. */
  readonly prepared: PreparedShutdown | undefined;
  /** Since when the logind that prepares a shutdown is not on the bus, in milliseconds since the boot. */
  readonly lostAt: number | undefined;
  /** What the last reading found lost; undefined before it, and where that has been restored. */
  readonly loss: Loss | undefined;
  /** Why logind cannot be asked, as it was logged last; undefined where logind answers. */
  readonly problem: string | undefined;
}

/** How logind has lost the shutdown that it prepared. */
type Loss =
  /** It was restarted and knows nothing of it. */
  | { readonly kind: 'forgotten'; readonly shutdown: ShutdownKind }
  /**
   * It left the bus (systemd 257, after a restart of D-Bus): it cannot ask systemd for the way down any more, so the machine
   * would stand still, drained.
   */
  | { readonly kind: 'off-the-bus' };

const NOTHING: Observation = {
  scheduled: null,
  prepared: undefined,
  lostAt: undefined,
  loss: undefined,
  problem: undefined,
};

/** What logind answers; `processId` is undefined where it is not on the bus. */
interface LogindReadings extends Pick<ShutdownReadings, 'preparing' | 'scheduled'> {
  readonly processId: number | undefined;
}

interface MachineReadings extends LogindReadings {
  /** Whether systemd stops all units, or has that as a job. */
  readonly stopping: boolean;
}

async function readLogind(login1: Login1, signal: AbortSignal): Promise<LogindReadings> {
  const processId = await login1.processId(signal);
  if (processId === undefined) return { processId, preparing: 'unknown', scheduled: null };
  const preparing = await login1.preparingForShutdown(signal);
  return { processId, preparing, scheduled: preparing ? null : await login1.scheduledShutdown(signal) };
}

type MachineReaderDependencies = Pick<ShutdownDetectorDependencies, 'leadMs' | 'clock' | 'log'> & {
  readonly host: Host;
};

/** Reads whether logind and systemd announce a shutdown, and restores one that a reading found lost. */
class MachineReader {
  readonly #dependencies: MachineReaderDependencies;
  #observation = NOTHING;

  constructor(dependencies: MachineReaderDependencies) {
    this.#dependencies = dependencies;
  }

  scheduled(): ScheduledShutdown | null {
    return this.#observation.scheduled;
  }

  /** 'unknown' where logind or systemd does not answer. */
  async read(signal: AbortSignal): Promise<PhaseFacts['goingDown']> {
    try {
      return await this.#readMachine(signal);
    } catch (error) {
      signal.throwIfAborted();
      const problem = describeError(error);
      if (this.#isNewProblem(problem)) {
        this.#dependencies.log.warn({ reason: problem }, 'cannot ask logind or systemd whether the machine goes down');
      }
      return { kind: 'unknown' };
    }
  }

  async #readMachine(signal: AbortSignal): Promise<PhaseFacts['goingDown']> {
    const { login1, systemd } = this.#dependencies.host;
    this.#note({ loss: undefined });
    const logind = await readLogind(login1, signal);
    this.#note({ scheduled: logind.scheduled });
    const stopping = logind.preparing !== true && (await systemd.isGoingDown(signal));
    const readings = { ...logind, stopping };
    const { prepared } = this.#observation;
    if (isForgotten(prepared, readings)) {
      this.#note({ loss: { kind: 'forgotten', shutdown: prepared.kind } });
      return { kind: 'unknown' };
    }
    this.#noteAbsence(readings);
    const { leadMs, clock } = this.#dependencies;
    const origin = decideShutdown({ ...readings, now: clock.now(), leadMs });
    if (origin === 'no') this.#note({ prepared: undefined });
    this.#checkPresence(logind);
    if (origin === 'no' || origin === 'unknown') return { kind: origin };
    const facts = await this.#readReason(origin, logind, signal);
    const shutdownKind = announcedKind(origin, facts);
    const reason = shutdownReason(origin, facts);
    return { kind: 'yes', origin, reason, ...(shutdownKind === undefined ? {} : { shutdownKind }) };
  }

  /** Restores what the last reading found lost; throws what fails, which the next reading finds again. */
  async restore(signal: AbortSignal): Promise<void> {
    const { host, log } = this.#dependencies;
    const { loss } = this.#observation;
    this.#note({ loss: undefined });
    if (loss?.kind === 'forgotten') {
      const kind = loss.shutdown;
      log.error({ kind }, 'logind was restarted and has forgotten the shutdown, asking for it again');
      await host.login1.request(kind, signal);
      // Only now: the next reading finds it lost again where the request failed.
      this.#note({ prepared: undefined });
    }
    if (loss?.kind === 'off-the-bus') {
      log.error({ unit: LOGIND_UNIT }, 'logind has left the bus in the middle of a shutdown, restarting it');
      await host.systemd.restartUnit(LOGIND_UNIT, signal);
    }
  }

  /** Notes since when a logind that prepared a shutdown is not on the bus, and after a while that it does not come back. */
  #noteAbsence({ processId, stopping }: MachineReadings): void {
    const { prepared, lostAt } = this.#observation;
    const isAway = processId === undefined && !stopping && prepared !== undefined;
    const now = this.#dependencies.clock.monotonic();
    const since = isAway ? (lostAt ?? now) : undefined;
    // The time begins again: a logind that is restarted is given as long as one that left by itself.
    if (isLost(since, now)) this.#note({ lostAt: undefined, loss: { kind: 'off-the-bus' } });
    else this.#note({ lostAt: since });
  }

  /** Logs a logind that is not on the bus, once until it is back. */
  #checkPresence({ processId }: LogindReadings): void {
    if (processId !== undefined) this.#note({ problem: undefined });
    else if (this.#isNewProblem(OFF_THE_BUS)) {
      this.#dependencies.log.error({ reason: OFF_THE_BUS }, 'the hold on the machine is weaker than it should be');
    }
  }

  /** What the reason and the kind of the shutdown are made of. Remembers one that logind prepares, for the case that logind is restarted. */
  async #readReason(
    origin: MachineOrigin,
    { processId, scheduled }: LogindReadings,
    signal: AbortSignal,
  ): Promise<ReasonFacts> {
    const { login1, systemd } = this.#dependencies.host;
    const isPresent = processId !== undefined;
    const requester = isPresent ? await login1.shutdownRequester(signal).catch((): ShutdownRequester => ({})) : {};
    signal.throwIfAborted();
    const { kind } = requester;
    if (origin === 'logind' && isPresent && kind !== undefined) this.#note({ prepared: { processId, kind } });
    const queued = origin === 'unit-stop' ? await systemd.queuedShutdown(signal) : undefined;
    return { requester, queued, scheduled };
  }

  #isNewProblem(problem: string): boolean {
    const isNew = this.#observation.problem !== problem;
    this.#note({ problem });
    return isNew;
  }

  #note(found: Partial<Observation>): void {
    this.#observation = { ...this.#observation, ...found };
  }
}

/** What a trigger announces. */
function announcedBy({ reason, deadline, by: requestedBy }: Trigger): PhaseFacts['goingDown'] {
  const limit = deadline === undefined ? {} : { triggerDeadline: deadline };
  return { kind: 'yes', origin: 'trigger', reason, ...limit, requestedBy };
}

/** What was said over the control socket last: a shutdown is announced, or none is, and perhaps somebody took one back. */
type Announcement =
  | { readonly kind: 'given'; readonly trigger: Trigger }
  | { readonly kind: 'none'; readonly withdrawnBy?: ControlClient };

/** What the machine says, with who took the last trigger back where it does not go down. */
function withWithdrawal(
  machine: PhaseFacts['goingDown'],
  withdrawnBy: ControlClient | undefined,
): PhaseFacts['goingDown'] {
  return machine.kind === 'no' && withdrawnBy !== undefined ? { ...machine, withdrawnBy } : machine;
}

/** The answer of logind or systemd; true where neither can be asked. */
async function orTrue(ask: () => Promise<boolean>): Promise<boolean> {
  try {
    return await ask();
  } catch {
    return true;
  }
}

/** Creates the detector; nothing is asked of logind or systemd before the first reading. */
export function createShutdownDetector(dependencies: ShutdownDetectorDependencies): ShutdownDetector {
  const { host, triggered, leadMs, clock } = dependencies;
  const machine = host === undefined ? undefined : new MachineReader({ ...dependencies, host });
  let current: Announcement = triggered === undefined ? { kind: 'none' } : { kind: 'given', trigger: triggered };
  const scheduled = (): ScheduledShutdown | null => machine?.scheduled() ?? null;
  return {
    scheduled,
    beginsInMs: () => {
      const start = scheduledStart(scheduled(), leadMs);
      return start === undefined ? Number.POSITIVE_INFINITY : Math.max(0, start - clock.now());
    },
    trigger: (trigger) => {
      current = { kind: 'given', trigger };
    },
    withdraw: (by) => {
      if (current.kind === 'given') current = { kind: 'none', withdrawnBy: by };
    },
    forgetTrigger: () => {
      current = { kind: 'none' };
    },
    triggered: () => (current.kind === 'given' ? current.trigger : undefined),
    goesDown: async (signal) => {
      if (host === undefined) return false;
      const { login1, systemd } = host;
      return await orTrue(async () => (await login1.preparingForShutdown(signal)) || systemd.isGoingDown(signal));
    },
    managerStopping: async (signal) => {
      if (host === undefined) return false;
      const isStopping = await orTrue(async () => (await host.systemd.systemState(signal)) === 'stopping');
      signal.throwIfAborted();
      return isStopping;
    },
    read: async (signal) => {
      if (current.kind === 'given') return announcedBy(current.trigger);
      const { withdrawnBy } = current;
      return withWithdrawal(machine === undefined ? { kind: 'no' } : await machine.read(signal), withdrawnBy);
    },
    restore: async (signal) => {
      // A trigger holds the machine whatever logind knows.
      if (current.kind === 'none') await machine?.restore(signal);
    },
  };
}
