/**
 * The inhibitor lock that delays a shutdown. logind grants it as a file descriptor, which Node.js cannot receive, so a
 * systemd-inhibit process holds it: in its own unit, which survives the agent and ends when the agent's heartbeat stops, or
 * as a child of the agent. The lock stays if the bus or logind ends. While a shutdown is being prepared, logind grants no
 * new lock; that is a result, not an error.
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
const POLL_MS = 20;

/** The result of `acquire`. */
export type LockOutcome =
  | { readonly kind: 'held' }
  /** A shutdown is being prepared, or units are being stopped: no lock can be taken now. `held` is its present state. */
  | { readonly kind: 'shutdown-under-way'; readonly held: boolean };

/** An inhibitor lock of mode delay on shutdown. */
export interface ShutdownLock {
  /**
   * Takes the lock unless it is held, and returns when logind lists it. Idempotent. Error: LOCK_FAILED, which says what
   * to do; a lock that was held before the error is kept.
   */
  acquire(signal: AbortSignal): Promise<LockOutcome>;
  /** Whether logind lists the lock. Errors: those of the bus. */
  held(signal: AbortSignal): Promise<boolean>;
  /** Releases the lock, and returns when its holder has ended. Idempotent. Error: LOCK_FAILED. */
  release(signal: AbortSignal): Promise<void>;
  /** Tells the holder that the agent runs; needed at least once a minute to keep the lock. Error: LOCK_FAILED. */
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

/** A stand-in for machines without logind: `acquire` reports success, and logind never lists a lock. */
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
  /** Whether this process ends the holder on purpose. */
  releasing: boolean;
}

/** Allows this process to end while the child runs; the closed pipe then ends the child. */
function detach(child: ChildProcessWithoutNullStreams): void {
  child.unref();
  for (const stream of [child.stdin, child.stdout, child.stderr]) (stream as unknown as Socket).unref();
}

/** Starts systemd-inhibit with a cat, whose echo proves that the lock is held. Rejects with its error output if it ends. */
async function startHolder(clock: Clock, onLost: () => void, signal: AbortSignal): Promise<Holder> {
  const options = ['--what=shutdown', '--mode=delay', `--who=${LOCK_OWNER}`, `--why=${WHY}`];
  // Its own process group: a Ctrl-C at the agent's terminal must not end the lock before the agent has decided to.
  const child = spawn('systemd-inhibit', [...options, 'cat'], { detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
  const exited = Promise.withResolvers<string>();
  const echoed = Promise.withResolvers<void>();
  const holder: Holder = { child, exited: exited.promise, alive: true, releasing: false };
  let stderr = '';
  let isHeld = false;
  const onEnd = (how: string): void => {
    holder.alive = false;
    child.stdin.destroy();
    exited.resolve(how);
    echoed.reject(new Error(stderr.trim() === '' ? how : stderr.trim()));
    if (isHeld && !holder.releasing) onLost();
  };
  child.stderr.on('data', (chunk: Buffer) => {
    stderr = (stderr + chunk.toString()).slice(-1000);
  });
  child.stdout.once('data', () => {
    isHeld = true;
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
    .then(() => Promise.reject(new Error(`systemd-inhibit did not take the lock within ${CHILD_START_MS / 1000} s`)));
  try {
    await Promise.race([echoed.promise, late]);
    detach(child);
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

/** Ends the holder: the closed pipe ends cat, and then systemd-inhibit ends. */
async function endHolder(holder: Holder): Promise<void> {
  holder.releasing = true;
  holder.child.stdin.end();
  const killTimer = setTimeout(() => holder.child.kill('SIGKILL'), 1000);
  await holder.exited;
  clearTimeout(killTimer);
}

/**
 * A lock that a child process holds: it is released when the agent ends, for whatever reason. `onLost` is called when the
 * child ends without a call of `release`.
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

interface UnitLockOptions {
  readonly login1: Login1;
  readonly systemd: Systemd;
  readonly log: Log;
  readonly heartbeatPath: string;
  readonly clock?: Clock;
}

/**
 * A lock that the unit nodemaint-inhibitor.service holds: it stays when the agent ends, even by SIGKILL. The unit releases
 * it by itself when the number in the file `heartbeatPath` has not changed for three minutes.
 */
export function createUnitLock(options: UnitLockOptions): ShutdownLock {
  return new UnitLock(options);
}

class UnitLock implements ShutdownLock {
  readonly #options: Required<UnitLockOptions>;

  constructor({ clock = createSystemClock(), ...options }: UnitLockOptions) {
    this.#options = { ...options, clock };
  }

  async acquire(signal: AbortSignal): Promise<LockOutcome> {
    try {
      return await this.#acquire(signal);
    } catch (error) {
      signal.throwIfAborted();
      const fix = `install the unit with install.sh, or see "systemctl status ${HOLDER_UNIT}"`;
      throw lockFailed('take the shutdown lock', fix, error);
    }
  }

  async held(signal: AbortSignal): Promise<boolean> {
    return (await listOwn(this.#options.login1, signal)).length > 0;
  }

  async release(signal: AbortSignal): Promise<void> {
    try {
      await this.#options.systemd.stopUnit(HOLDER_UNIT, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw lockFailed('release the shutdown lock', `run "systemctl stop ${HOLDER_UNIT}"`, error);
    }
  }

  async heartbeat(): Promise<void> {
    const { heartbeatPath } = this.#options;
    try {
      await mkdir(path.dirname(heartbeatPath), { recursive: true });
      await using file = await open(heartbeatPath, O_WRONLY | O_CREAT | O_NOFOLLOW, 0o644);
      // The new number overwrites the old one of the same length, so the holder never reads an empty file.
      await file.write(`${String(process.hrtime.bigint()).padStart(20, '0')}\n`, 0);
    } catch (error) {
      throw lockFailed(`write ${heartbeatPath}`, 'without it the lock is released after three minutes', error);
    }
  }

  async #acquire(signal: AbortSignal): Promise<LockOutcome> {
    const { systemd, log } = this.#options;
    // The heartbeat comes first: an agent that runs without a bus must not lose its lock.
    await this.heartbeat();
    if (await this.held(signal)) return { kind: 'held' };
    if (await this.#isUnderWay(signal)) return { kind: 'shutdown-under-way', held: false };
    try {
      // The unit may be active without a lock, and then starting it would do nothing.
      await systemd.stopUnit(HOLDER_UNIT, signal);
      await systemd.startUnit(HOLDER_UNIT, signal);
      await this.#waitUntilHeld(signal);
    } catch (error) {
      if (await this.#isUnderWay(signal)) return { kind: 'shutdown-under-way', held: false };
      throw error;
    }
    log.info({ unit: HOLDER_UNIT }, 'shutdown lock taken');
    return { kind: 'held' };
  }

  async #isUnderWay(signal: AbortSignal): Promise<boolean> {
    const { login1, systemd } = this.#options;
    return (await login1.preparingForShutdown(signal)) || (await systemd.isGoingDown(signal));
  }

  /** Waits for the lock: the unit becomes active a moment before its systemd-inhibit has it. */
  async #waitUntilHeld(signal: AbortSignal): Promise<void> {
    const { systemd, clock } = this.#options;
    const until = clock.monotonic() + LISTED_WITHIN_MS;
    while (!(await this.held(signal))) {
      const state = await systemd.unitActiveState(HOLDER_UNIT, signal);
      if (state !== 'active' || clock.monotonic() > until) {
        throw new Error(`logind lists no lock, ${HOLDER_UNIT} is ${state}`);
      }
      await clock.sleep(POLL_MS, signal);
    }
  }
}
