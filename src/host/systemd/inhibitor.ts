/**
 * The lock that delays a shutdown. logind hands it out as a file descriptor, which Node.js cannot receive, so a
 * systemd-inhibit holds it: in a unit of its own, which outlives the agent and ends by itself when the agent shows no
 * sign of life, or as a child of the agent. The lock depends on neither bus nor logind staying up. While a shutdown is
 * under way no new lock is granted; that is an outcome, not an error.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import type { Socket } from 'node:net';
import path from 'node:path';
import process from 'node:process';
import { isOwnLock, LOCK_OWNER } from '../../decide/shutdown/other-locks.ts';
import { describeError, NodemaintError } from '../../errors.ts';
import type { Log } from '../../telemetry/log.ts';
import { type Clock, createSystemClock } from '../clock.ts';
import type { Inhibitor, Login1 } from './login1.ts';
import type { Systemd } from './systemd1.ts';

const { O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
const WHY = 'Waiting for the pods of this node to leave';
export const HOLDER_UNIT = 'nodemaint-inhibitor.service';
const CHILD_START_MS = 10_000;
const LISTED_WITHIN_MS = 5_000;
const LOOK_MS = 20;

/** What became of asking for the lock. */
export type LockOutcome =
  | { readonly kind: 'held' }
  /** A shutdown is being prepared, or units are being stopped: the lock is as it was, and cannot be taken now. */
  | { readonly kind: 'shutdown-under-way'; readonly held: boolean };

/** A lock of the kind delay on shutdown. */
export interface ShutdownLock {
  /**
   * Takes the lock unless it is held, and returns when logind lists it. Idempotent. Error: LOCK_FAILED, which says what
   * to do; a lock that was held before the error is kept.
   */
  acquire(signal: AbortSignal): Promise<LockOutcome>;
  /** Whether logind lists the lock. Errors: those of the bus. */
  held(signal: AbortSignal): Promise<boolean>;
  /** Gives the lock back, and returns when its holder has ended. Idempotent. Error: LOCK_FAILED. */
  release(signal: AbortSignal): Promise<void>;
  /** Shows the holder that the agent lives; at least once a minute while the lock shall be held. Error: LOCK_FAILED. */
  heartbeat(): Promise<void>;
}

function lockFailed(doing: string, fix: string, cause: unknown): NodemaintError {
  const busIsAway = cause instanceof NodemaintError && cause.code === 'DBUS_UNAVAILABLE';
  const advice = busIsAway ? 'it is tried again, start dbus if it does not run' : fix;
  return new NodemaintError('LOCK_FAILED', `cannot ${doing}: ${describeError(cause)}; ${advice}`, { cause });
}

/** Our locks among those that logind lists. */
async function listOwn(login1: Login1, signal: AbortSignal): Promise<readonly Inhibitor[]> {
  const all = await login1.listInhibitors(signal);
  return all.filter((lock) => isOwnLock(lock, process.getuid?.()));
}

/** A lock that is never there, for machines without logind. `acquire` says that it is held: nothing more can be had. */
export function createNoLock(): ShutdownLock {
  return {
    acquire: () => Promise.resolve({ kind: 'held' }),
    held: () => Promise.resolve(false),
    release: () => Promise.resolve(),
    heartbeat: () => Promise.resolve(),
  };
}

interface Holder {
  readonly child: ChildProcessWithoutNullStreams;
  readonly exited: Promise<string>;
  alive: boolean;
  releasing: boolean;
}

/** Lets this process end while the child still runs; the pipe then ends the child. */
function letGo(child: ChildProcessWithoutNullStreams): void {
  child.unref();
  for (const stream of [child.stdin, child.stdout, child.stderr]) (stream as unknown as Socket).unref();
}

/** Starts systemd-inhibit around a cat, whose echo proves that the lock is held. Rejects with what it said on its end. */
async function startHolder(clock: Clock, onLost: () => void, signal: AbortSignal): Promise<Holder> {
  const options = ['--what=shutdown', '--mode=delay', `--who=${LOCK_OWNER}`, `--why=${WHY}`];
  // A group of its own, so that a Ctrl-C at the agent's terminal does not take the lock before the agent has decided.
  const child = spawn('systemd-inhibit', [...options, 'cat'], { detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
  const exited = Promise.withResolvers<string>();
  const echoed = Promise.withResolvers<void>();
  const holder: Holder = { child, exited: exited.promise, alive: true, releasing: false };
  let complaint = '';
  let proven = false;
  const onEnd = (how: string): void => {
    holder.alive = false;
    child.stdin.destroy();
    exited.resolve(how);
    echoed.reject(new Error(complaint.trim() === '' ? how : complaint.trim()));
    if (proven && !holder.releasing) onLost();
  };
  child.stderr.on('data', (chunk: Buffer) => {
    complaint = (complaint + chunk.toString()).slice(-1000);
  });
  child.stdout.once('data', () => {
    proven = true;
    echoed.resolve();
  });
  child.stdin.on('error', () => undefined);
  child.on('error', (error) => {
    onEnd(`systemd-inhibit: ${error.message}`);
  });
  child.on('exit', (code, killedBy) => {
    onEnd(`systemd-inhibit ended with ${killedBy ?? `exit code ${code}`}`);
  });
  child.stdin.write('held\n');
  const timer = new AbortController();
  const onAbort = (): void => {
    timer.abort(signal.reason);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  const late = clock
    .sleep(CHILD_START_MS, timer.signal)
    .then(() => Promise.reject(new Error(`no sign of the lock within ${CHILD_START_MS / 1000} s`)));
  try {
    await Promise.race([echoed.promise, late]);
    letGo(child);
    return holder;
  } catch (error) {
    holder.releasing = true;
    child.kill('SIGKILL');
    child.stdin.destroy();
    throw error;
  } finally {
    signal.removeEventListener('abort', onAbort);
    timer.abort();
    late.catch(() => undefined);
  }
}

/** Ends the holder; the closed pipe ends cat, and with it systemd-inhibit. */
async function endHolder(holder: Holder): Promise<void> {
  holder.releasing = true;
  holder.child.stdin.end();
  const patience = setTimeout(() => holder.child.kill('SIGKILL'), 1000);
  await holder.exited;
  clearTimeout(patience);
}

/**
 * Makes a lock that a child process holds: it goes when the agent goes, however that ends. `onLost` is called when the
 * child ends although nobody released it.
 */
export function createChildLock({
  login1,
  log,
  onLost,
  clock = createSystemClock(),
}: {
  readonly login1: Login1;
  readonly log: Log;
  readonly onLost: () => void;
  readonly clock?: Clock;
}): ShutdownLock {
  const fix = 'systemd-inhibit has to be installed and logind has to run; see "nodemaint doctor"';
  let holder: Holder | undefined;
  const lost = (): void => {
    log.warn({}, 'shutdown lock lost: its holder ended');
    onLost();
  };
  const held = async (signal: AbortSignal): Promise<boolean> => {
    const pid = holder?.alive === true ? holder.child.pid : undefined;
    return pid !== undefined && (await listOwn(login1, signal)).some((inhibitor) => inhibitor.pid === pid);
  };
  const acquire = async (signal: AbortSignal): Promise<LockOutcome> => {
    if (await held(signal)) return { kind: 'held' };
    if (await login1.preparingForShutdown(signal)) return { kind: 'shutdown-under-way', held: false };
    if (holder?.alive === true) await endHolder(holder);
    holder = undefined;
    try {
      holder = await startHolder(clock, lost, signal);
    } catch (error) {
      if (await login1.preparingForShutdown(signal)) return { kind: 'shutdown-under-way', held: false };
      throw error;
    }
    if (!(await held(signal))) throw new Error('logind does not list the lock');
    log.info({ pid: holder.child.pid }, 'shutdown lock taken');
    return { kind: 'held' };
  };
  return {
    held,
    acquire: (signal) =>
      acquire(signal).catch((error: unknown) => {
        signal.throwIfAborted();
        throw lockFailed('take the shutdown lock', fix, error);
      }),
    release: async () => {
      const ending = holder;
      holder = undefined;
      if (ending?.alive !== true) return;
      await endHolder(ending);
      log.info({}, 'shutdown lock released');
    },
    heartbeat: () => Promise.resolve(),
  };
}

/**
 * Makes a lock that the unit nodemaint-inhibitor.service holds: it outlives the agent, SIGKILL included. The unit gives
 * it back by itself when the number in `heartbeatPath` has not changed for three minutes.
 */
export function createUnitLock({
  login1,
  systemd,
  log,
  heartbeatPath,
  clock = createSystemClock(),
}: {
  readonly login1: Login1;
  readonly systemd: Systemd;
  readonly log: Log;
  readonly heartbeatPath: string;
  readonly clock?: Clock;
}): ShutdownLock {
  const held = async (signal: AbortSignal): Promise<boolean> => (await listOwn(login1, signal)).length > 0;
  const heartbeat = async (): Promise<void> => {
    try {
      await mkdir(path.dirname(heartbeatPath), { recursive: true });
      await using file = await open(heartbeatPath, O_WRONLY | O_CREAT | O_NOFOLLOW, 0o644);
      // Over the old number, of the same length: a file of this kind is never empty when the holder reads it.
      await file.write(`${String(process.hrtime.bigint()).padStart(20, '0')}\n`, 0);
    } catch (error) {
      throw lockFailed(`write ${heartbeatPath}`, 'the lock is given back after three minutes without it', error);
    }
  };
  const cannotTake = async (signal: AbortSignal): Promise<boolean> =>
    (await login1.preparingForShutdown(signal)) || (await systemd.isGoingDown(signal));
  /** The unit is active a moment before its systemd-inhibit has the lock. */
  const untilHeld = async (signal: AbortSignal): Promise<void> => {
    const until = clock.monotonic() + LISTED_WITHIN_MS;
    while (!(await held(signal))) {
      const state = await systemd.unitActiveState(HOLDER_UNIT, signal);
      if (state !== 'active' || clock.monotonic() > until)
        throw new Error(`logind lists no lock, ${HOLDER_UNIT} is ${state}`);
      await clock.sleep(LOOK_MS, signal);
    }
  };
  const acquire = async (signal: AbortSignal): Promise<LockOutcome> => {
    // First of all: a living agent without a bus must not lose its lock.
    await heartbeat();
    if (await held(signal)) return { kind: 'held' };
    if (await cannotTake(signal)) return { kind: 'shutdown-under-way', held: false };
    try {
      // Active without a lock: starting it again would do nothing.
      await systemd.stopUnit(HOLDER_UNIT, signal);
      await systemd.startUnit(HOLDER_UNIT, signal);
      await untilHeld(signal);
    } catch (error) {
      if (await cannotTake(signal)) return { kind: 'shutdown-under-way', held: false };
      throw error;
    }
    log.info({ unit: HOLDER_UNIT }, 'shutdown lock taken');
    return { kind: 'held' };
  };
  return {
    held,
    heartbeat,
    acquire: (signal) =>
      acquire(signal).catch((error: unknown) => {
        signal.throwIfAborted();
        const fix = `install the unit with install.sh, or see "systemctl status ${HOLDER_UNIT}"`;
        throw lockFailed('take the shutdown lock', fix, error);
      }),
    release: async (signal) => {
      try {
        await systemd.stopUnit(HOLDER_UNIT, signal);
      } catch (error) {
        signal.throwIfAborted();
        throw lockFailed('release the shutdown lock', `run "systemctl stop ${HOLDER_UNIT}"`, error);
      }
    },
  };
}
