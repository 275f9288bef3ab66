/**
 * The shutdown inhibitor lock of the agent: taken and released according to the phase. Its status has its limits too: how
 * long logind lets a lock delay a shutdown, which file says so, and when the lock expires if the agent dies.
 */
import path from 'node:path';
import * as z from 'zod';
import type { AgentConfig } from '../../config/schema.ts';
import { delayProblem, winningDelay } from '../../decide/machine/logind-delay.ts';
import { holdsLock, type Phase } from '../../decide/shutdown/phase.ts';
import { describeError } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';
import { createNoLock, HOLDER_UNIT, type ShutdownLock, UnitLock } from '../../host/systemd/inhibitor-unit.ts';
import type { Login1 } from '../../host/systemd/logind.ts';
import { readLogindConfig } from '../../host/systemd/logind-config.ts';
import type { Systemd } from '../../host/systemd/manager.ts';
import type { Log } from '../../telemetry/log.ts';
import type { AgentStatus } from '../control/status.ts';

/** logind and systemd of this machine. */
export interface Host {
  readonly login1: Login1;
  readonly systemd: Systemd;
}

/** The inhibitor lock of the configured kind. */
export function createShutdownLock(
  config: Pick<AgentConfig, 'lock' | 'runDirectory'>,
  host: Host | undefined,
  log: Log,
): ShutdownLock {
  if (host === undefined || config.lock === 'none') return createNoLock();
  return new UnitLock({ ...host, log, heartbeatPath: path.join(config.runDirectory, 'alive') });
}

/** The limits are read again after so long. */
const LIMITS_EVERY_MS = 60_000;
/** After so long without a heartbeat the lock's holder lets the lock go, where its unit names no time (systemd/libexec/lock-holder). */
const DEAD_MAN_MS = 180_000;

/** Keeps the lock as the phase wants it. */
export interface LockReconciler {
  /** Takes or releases the lock, after what is under way. Never throws for what can be tried again: the log and the status have the reason. */
  reconcile(phase: Phase, signal: AbortSignal): Promise<void>;
  /** Shows the lock's holder that the agent lives. */
  heartbeat(): Promise<void>;
  release(signal: AbortSignal): Promise<void>;
  status(phase: Phase): Omit<AgentStatus['lock'], 'others'>;
}

interface LockDependencies {
  readonly kind: AgentConfig['lock'];
  readonly lock: ShutdownLock;
  /** Undefined where there is neither logind nor systemd. */
  readonly host: Host | undefined;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Log;
}

/** What became of the lock. */
type LockState =
  | { readonly kind: 'unknown' | 'held' | 'refused' | 'released' | 'logindAway' }
  | { readonly kind: 'failed'; readonly reason: string };

/** What is known of the lock's limits, and when it was read by the monotonic clock. */
interface LockLimits {
  readonly shown: Pick<AgentStatus['lock'], 'delay' | 'deadManMs'>;
  /** Why logind lets the lock delay a shutdown for less than it should. */
  readonly problem: string | undefined;
  readonly readAt: number;
}

function describeState(state: LockState): string {
  switch (state.kind) {
    case 'unknown':
      return '';
    case 'held':
    case 'released':
      return state.kind;
    case 'refused':
      return 'a shutdown is under way, no new lock is granted';
    case 'logindAway':
      return 'logind is not on the bus: shutdowns pass the lock by; run "systemctl restart systemd-logind"';
    case 'failed':
      return state.reason;
  }
}

/** Reads the limits of the lock from logind, its configuration and the unit of the lock's holder. */
async function readLimits(
  kind: AgentConfig['lock'],
  { login1, systemd }: Host,
  clock: Pick<Clock, 'monotonic'>,
  signal: AbortSignal,
): Promise<LockLimits> {
  const limitMs = await login1.inhibitDelayMaxMs(signal);
  const winner = winningDelay(await readLogindConfig('/', signal));
  const wrong = delayProblem(limitMs, winner);
  const problem = wrong === undefined ? undefined : `${wrong.message}; ${wrong.fix}`;
  const delay = {
    limitMs,
    ...(winner === undefined ? {} : { file: winner.path }),
    ...(problem === undefined ? {} : { problem }),
  };
  if (kind !== 'unit') return { shown: { delay }, problem, readAt: clock.monotonic() };
  const value = await systemd.unitProperty(HOLDER_UNIT, 'Service', 'Environment', signal);
  const environment = z.array(z.string()).safeParse(value).data;
  const set = environment?.find((line) => line.startsWith('NODEMAINT_DEAD_MAN_SEC='))?.split('=')[1];
  const deadManMs = set === undefined ? DEAD_MAN_MS : Number(set) * 1000;
  return { shown: { delay, deadManMs }, problem, readAt: clock.monotonic() };
}

/** The lock is not touched before the first `reconcile`. */
export function createLockReconciler({ kind, lock, host, clock, log }: LockDependencies): LockReconciler {
  let state: LockState = { kind: 'unknown' };
  let limits: LockLimits | undefined;
  let last: Promise<void> = Promise.resolve();

  const refreshLimits = async (all: Host, signal: AbortSignal): Promise<void> => {
    if (limits !== undefined && clock.monotonic() - limits.readAt < LIMITS_EVERY_MS) return;
    const read = await readLimits(kind, all, clock, signal);
    if (read.problem !== undefined && read.problem !== limits?.problem) {
      log.warn({ reason: read.problem }, 'the lock delays a shutdown for less than it should');
    }
    limits = read;
  };
  const take = async (signal: AbortSignal): Promise<LockState> => {
    // While logind is away a request would only wait for a time-out; a lock that is held does not need logind.
    if (host !== undefined && (await host.login1.processId(signal)) === undefined) {
      await lock.heartbeat();
      return { kind: 'logindAway' };
    }
    const isHeld = await lock.acquire(signal);
    await lock.heartbeat();
    return { kind: isHeld ? 'held' : 'refused' };
  };
  const keep = async (isHeld: boolean, signal: AbortSignal): Promise<void> => {
    const before = state;
    try {
      if (!isHeld) {
        await lock.release(signal);
        state = { kind: 'released' };
        return;
      }
      state = await take(signal);
      if (host !== undefined && state.kind !== 'logindAway') await refreshLimits(host, signal);
    } catch (error) {
      signal.throwIfAborted();
      const reason = describeError(error);
      if (before.kind !== 'failed' || before.reason !== reason) log.error({ reason }, 'shutdown lock not held');
      state = { kind: 'failed', reason };
    }
  };
  return {
    reconcile: async (phase, signal) => {
      const kept = last.then(() => keep(holdsLock(phase), signal));
      last = kept.catch(() => undefined);
      await kept;
    },
    heartbeat: () => lock.heartbeat(),
    release: (signal) => lock.release(signal),
    status: (phase) => ({
      kind,
      held: kind !== 'none' && holdsLock(phase) && state.kind === 'held',
      message: kind === 'none' ? '' : describeState(state),
      ...limits?.shown,
    }),
  };
}
