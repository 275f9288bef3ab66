/**
 * The time of a simulation: it passes only from one action to the next, so that an hour takes no time, and the same seed gives the
 * same history. While a simulation runs, the timers, the clocks and the random numbers of the process are its own.
 */
import cryptoOfNode from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import process from 'node:process';
import timersOfPromises from 'node:timers/promises';
import type { Clock } from '../../src/host/clock.ts';
import type { Random } from '../chaos/random.ts';

/** Something that is due. */
interface Action {
  readonly at: number;
  /** The order of what is due at the same time, drawn by the seed. */
  readonly order: number;
  readonly act: () => void;
  isOver: boolean;
}

/** 2026-01-01, an hour after the boot. */
const BEGIN_MS = Date.UTC(2026, 0, 1);
const BOOT_MS = BEGIN_MS - 3_600_000;
const realImmediate = setImmediate;

/** The virtual time, and what is due in it. */
export class VirtualTime {
  #now = BEGIN_MS;
  readonly #random: Random;
  readonly #actions: Action[] = [];

  constructor(random: Random) {
    this.#random = random;
  }

  /** In milliseconds since the epoch. */
  readonly now = (): number => this.#now;

  /** A clock of a machine whose wall time is so many milliseconds ahead. */
  clock(aheadMs: () => number = () => 0): Clock {
    return {
      now: () => this.#now + aheadMs(),
      monotonic: () => this.#now - BOOT_MS,
      sleep: (ms, signal) => this.sleep(ms, signal),
    };
  }

  /** Acts after `ms` milliseconds; returns how to call that off. */
  after(ms: number, act: () => void): () => void {
    const action = { at: this.#now + Math.max(0, ms), order: this.#random.whole(1e9), act, isOver: false };
    let [low, high] = [0, this.#actions.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#actions[middle];
      // The next one is at the end of the list.
      if (other !== undefined && isLater(other, action)) low = middle + 1;
      else high = middle;
    }
    this.#actions.splice(low, 0, action);
    return () => (action.isOver = true);
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const stop = this.after(ms, () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      });
      const onAbort = (): void => {
        stop();
        reject(signal?.reason as Error);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  /**
   * Lets so much time pass, or less where `isEnough` after an action; everything that is due meanwhile is done, each action to its
   * end before the next one.
   */
  async pass(ms: number, isEnough = (): boolean => false): Promise<void> {
    const until = this.#now + ms;
    for (;;) {
      await settled();
      if (isEnough()) return;
      const next = this.#actions.at(-1);
      if (next === undefined || next.at > until) break;
      this.#actions.pop();
      if (next.isOver) continue;
      this.#now = next.at;
      next.act();
    }
    this.#now = until;
  }
}

function isLater(a: Action, b: Action): boolean {
  return a.at === b.at ? a.order > b.order : a.at > b.at;
}

/** Waits until nothing is left to do but what waits for time: no promise is pending on anything else in a simulation. */
async function settled(): Promise<void> {
  await new Promise<void>((resolve) => realImmediate(resolve));
}

/** What `setTimeout` of a simulation returns. */
interface Timer {
  readonly stop: () => void;
  ref(): Timer;
  unref(): Timer;
  hasRef(): boolean;
}

function timerOf(stop: () => void): Timer {
  const timer: Timer = { stop, ref: () => timer, unref: () => timer, hasRef: () => false };
  return timer;
}

/** The globals that a simulation replaces. */
function replacements(time: VirtualTime, random: Random): readonly (readonly [object, string, unknown])[] {
  const later = (act: (...values: unknown[]) => void, ms = 0, ...values: unknown[]): Timer =>
    timerOf(time.after(ms, () => act(...values)));
  const stop = (timer: Timer | undefined): void => timer?.stop();
  const waiting = async <T>(
    ms = 0,
    value?: T,
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<T | undefined> => {
    await time.sleep(ms, options.signal);
    return value;
  };
  const hex = (length: number): string => Array.from({ length }, () => random.whole(16).toString(16)).join('');
  class VirtualDate extends Date {
    constructor(...values: []) {
      // A call with arguments is passed on as it is; without, it is the virtual time.
      super(...((values.length === 0 ? [time.now()] : values) as []));
    }
    static override now(): number {
      return time.now();
    }
  }
  return [
    [globalThis, 'Date', VirtualDate],
    // Every watch that waits ends by an abort, whose stack nobody reads.
    [Error, 'stackTraceLimit', 0],
    [globalThis, 'setTimeout', later],
    [globalThis, 'clearTimeout', stop],
    [globalThis, 'setImmediate', (act: () => void, ...values: unknown[]) => later(act, 0, ...values)],
    [globalThis, 'clearImmediate', stop],
    [Math, 'random', () => random.whole(1e9) / 1e9],
    [performance, 'now', () => time.now() - BOOT_MS],
    [process.hrtime, 'bigint', () => BigInt(Math.trunc(time.now() - BOOT_MS)) * 1_000_000n],
    [timersOfPromises, 'setTimeout', waiting],
    [cryptoOfNode, 'randomInt', (below: number) => random.whole(below)],
    [cryptoOfNode, 'randomBytes', (size: number) => Buffer.from(hex(2 * size), 'hex')],
    [crypto, 'randomUUID', () => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`],
    [
      AbortSignal,
      'timeout',
      (ms: number) => {
        const ending = new AbortController();
        time.after(ms, () => {
          ending.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
        });
        return ending.signal;
      },
    ],
  ];
}

/** Runs a simulation in a time of its own; the process has its own clocks and timers again when it ends. */
export async function inVirtualTime<T>(random: Random, simulate: (time: VirtualTime) => Promise<T>): Promise<T> {
  const time = new VirtualTime(random);
  const replaced = replacements(time, random).map(([owner, name, value]) => {
    const before = Object.getOwnPropertyDescriptor(owner, name);
    Object.defineProperty(owner, name, { value, configurable: true, writable: true });
    return () => {
      if (before === undefined) Reflect.deleteProperty(owner, name);
      else Object.defineProperty(owner, name, before);
    };
  });
  // What has imported a function of Node.js by its name has the new one from here on.
  syncBuiltinESMExports();
  try {
    return await simulate(time);
  } finally {
    for (const restore of replaced) restore();
    syncBuiltinESMExports();
  }
}
