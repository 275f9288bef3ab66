/**
 * The agent's hold on the machine: takes and gives back the lock as the phase wants it, and knows what it is worth: for
 * how long logind lets it hold, which file says so, and when the lock goes by itself if the agent dies.
 */
import * as z from 'zod';
import type { AgentConfig } from '../../config/schema.ts';
import { delayProblem, winningDelay } from '../../decide/machine/logind-delay.ts';
import { holdsLock, type Phase } from '../../decide/shutdown/phase.ts';
import { describeError } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';
import { HOLDER_UNIT, type ShutdownLock } from '../../host/systemd/inhibitor.ts';
import type { Login1 } from '../../host/systemd/login1.ts';
import { readLogindConfig } from '../../host/systemd/logind-config.ts';
import type { Systemd } from '../../host/systemd/systemd1.ts';
import type { Log } from '../../telemetry/log.ts';
import type { AgentStatus } from '../control/status.ts';

const LOOK_MS = 60_000;
/** How long the holder waits for a sign of life where its unit does not say (systemd/libexec/lock-holder). */
const DEAD_MAN_MS = 180_000;

export interface LockKeeping {
  /** Holds or releases, as the phase wants it. Never fails: what is wrong is logged and is in the status. */
  keep(phase: Phase, signal: AbortSignal): Promise<void>;
  /** Shows the lock's holder that the agent lives. */
  beat(): Promise<void>;
  release(signal: AbortSignal): Promise<void>;
  status(phase: Phase): Omit<AgentStatus['lock'], 'others'>;
}

export interface LockDependencies {
  readonly kind: AgentConfig['lock'];
  readonly lock: ShutdownLock;
  /** Absent where there is neither logind nor systemd. */
  readonly host: { readonly login1: Login1; readonly systemd: Systemd } | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/** Makes the hold; nothing is taken before `keep`. */
export function createHold({ kind, lock, host, clock, log }: LockDependencies): LockKeeping {
  let message = '';
  let worth: Pick<AgentStatus['lock'], 'delay' | 'deadManMs'> = {};
  let problem = '';
  let lookedAt = Number.NEGATIVE_INFINITY;

  const look = async ({ login1, systemd }: NonNullable<typeof host>, signal: AbortSignal): Promise<void> => {
    if (clock.monotonic() - lookedAt < LOOK_MS) return;
    const limitMs = await login1.inhibitDelayMaxMs(signal);
    const winner = winningDelay(await readLogindConfig('/', signal));
    const wrong = delayProblem(limitMs, winner);
    const found = wrong === undefined ? '' : `${wrong.message}; ${wrong.fix}`;
    if (found !== problem && found !== '') log.warn({ reason: found }, 'the lock holds for less than it should');
    problem = found;
    const delay = { limitMs, ...(winner === undefined ? {} : { file: winner.path }), problem };
    const value = kind === 'unit' ? await systemd.unitProperty(HOLDER_UNIT, 'Service', 'Environment', signal) : [];
    const environment = z.array(z.string()).safeParse(value).data;
    const told = environment?.find((line) => line.startsWith('NODEMAINT_DEAD_MAN_SEC='))?.split('=')[1];
    const deadManMs = told === undefined ? DEAD_MAN_MS : Number(told) * 1000;
    worth = kind === 'unit' ? { delay, deadManMs } : { delay };
    lookedAt = clock.monotonic();
  };
  const take = async (signal: AbortSignal): Promise<void> => {
    const outcome = await lock.acquire(signal);
    message = outcome.kind === 'held' || outcome.held ? 'held' : 'a shutdown is under way, no new lock is granted';
    await lock.heartbeat();
  };

  return {
    keep: async (phase, signal) => {
      try {
        if (!holdsLock(phase)) {
          await lock.release(signal);
          message = 'released';
          return;
        }
        // Asking for it while logind is away would only wait for a time-out; the lock itself does not need logind.
        if (host === undefined || (await host.login1.processId(signal)) !== undefined) await take(signal);
        else {
          await lock.heartbeat();
          message = 'logind is not on the bus: shutdowns pass the lock by; run "systemctl restart systemd-logind"';
          return;
        }
        if (host !== undefined) await look(host, signal);
      } catch (error) {
        signal.throwIfAborted();
        const reason = describeError(error);
        if (reason !== message) log.error({ reason }, 'shutdown lock not held');
        message = reason;
      }
    },
    beat: () => lock.heartbeat(),
    release: (signal) => lock.release(signal),
    status: (phase) => ({ kind, held: holdsLock(phase) && message === 'held', message, ...worth }),
  };
}
