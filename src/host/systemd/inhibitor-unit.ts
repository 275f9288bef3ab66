/**
 * The inhibitor lock that delays a shutdown. logind grants it as a file descriptor, which Node.js cannot receive, so the
 * systemd-inhibit of a unit holds it, which survives the agent and ends when the agent's heartbeat stops. The lock stays if the
 * bus or logind ends. While a shutdown is being prepared, logind grants no new lock; that is a result, not an error.
 */
import { constants } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { isOwnLock } from '../../decide/shutdown/other-locks.ts';
import { describeError, NodemaintError } from '../../errors.ts';
import type { Log } from '../../telemetry/log.ts';
import { type Clock, createSystemClock } from '../clock.ts';
import type { Login1 } from './logind.ts';
import type { Systemd } from './manager.ts';

const { O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
export const HOLDER_UNIT = 'nodemaint-inhibitor.service';
const LISTED_WITHIN_MS = 5_000;
const POLL_MS = 20;

/** An inhibitor lock of mode delay on shutdown. */
export interface ShutdownLock {
  /**
   * Takes the lock unless it is held, and returns when logind lists it: false where a shutdown is being prepared, or units are
   * being stopped, so that no lock can be taken now. Idempotent. Error: LOCK_FAILED, which says what to do; a lock that was
   * held before the error is kept.
   */
  acquire(signal: AbortSignal): Promise<boolean>;
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

/** A stand-in for machines without logind: `acquire` reports success, and logind never lists a lock. */
export function createNoLock(): ShutdownLock {
  return { acquire: () => Promise.resolve(true), release: () => Promise.resolve(), heartbeat: () => Promise.resolve() };
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
export class UnitLock implements ShutdownLock {
  readonly #options: Required<UnitLockOptions>;

  constructor({ clock = createSystemClock(), ...options }: UnitLockOptions) {
    this.#options = { ...options, clock };
  }

  async acquire(signal: AbortSignal): Promise<boolean> {
    try {
      return await this.#acquire(signal);
    } catch (error) {
      signal.throwIfAborted();
      const fix = `install the unit with install.sh, or see "systemctl status ${HOLDER_UNIT}"`;
      throw lockFailed('take the shutdown lock', fix, error);
    }
  }

  /** Whether logind lists the lock. Errors: those of the bus. */
  async held(signal: AbortSignal): Promise<boolean> {
    const all = await this.#options.login1.listInhibitors(signal);
    return all.some((lock) => isOwnLock(lock, process.getuid?.()));
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

  async #acquire(signal: AbortSignal): Promise<boolean> {
    const { systemd, log } = this.#options;
    // The heartbeat comes first: an agent that runs without a bus must not lose its lock.
    await this.heartbeat();
    if (await this.held(signal)) return true;
    if (await this.#isUnderWay(signal)) return false;
    try {
      // The unit may be active without a lock, and then starting it would do nothing.
      await systemd.stopUnit(HOLDER_UNIT, signal);
      await systemd.startUnit(HOLDER_UNIT, signal);
      await this.#waitUntilHeld(signal);
    } catch (error) {
      if (await this.#isUnderWay(signal)) return false;
      throw error;
    }
    log.info({ unit: HOLDER_UNIT }, 'shutdown lock taken');
    return true;
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
