/** Waits of tests for what another process does. */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Program } from '../control-plane/process.ts';

interface WaitOptions {
  /** The wait fails after this time, in milliseconds; 30 s where it is absent. */
  readonly timeoutMs?: number;
  /** The wait fails when this program ends; the error has the last lines of its log. */
  readonly program?: Program | undefined;
  readonly signal?: AbortSignal;
}

/** Less than the 15 s after which the controller looks at a maintenance again: on an idle machine a wait fails where it misses an event. */
export const SOON: WaitOptions = { timeoutMs: 14_000 };
/** The time for what a kubelet, containers or a whole drain do. */
export const SLOW: WaitOptions = { timeoutMs: 90_000 };

const TIMEOUT_MS = 30_000;
const INTERVAL_MS = 50;
const MAX_INTERVAL_MS = 500;
const SLOW_ANSWER_MS = 40;
/** However busy the machine is, a wait ends after this many times its limit. */
const MAX_FACTOR = 10;

function firstMatch(file: string, pattern: RegExp): number {
  try {
    return Number(pattern.exec(readFileSync(file, 'utf8'))?.[1] ?? 0);
  } catch {
    // Not every kernel measures it.
    return 0;
  }
}

/**
 * How long programs have waited for a processor, in milliseconds since some time: those of the whole machine, or this process
 * where it has waited longer.
 */
function stalledMs(): { readonly machine: number; readonly own: number } {
  return {
    machine: firstMatch('/proc/pressure/cpu', /^some .* total=(\d+)/) / 1_000,
    own: firstMatch('/proc/self/schedstat', /^\d+ (\d+) /) / 1_000_000,
  };
}

/** The time that the machine has given since the call: what has passed without that in which programs waited for a processor. */
function startStopwatch(): (limitMs: number) => boolean {
  const begunAt = performance.now();
  const before = stalledMs();
  return (limitMs) => {
    const passed = performance.now() - begunAt;
    if (passed <= limitMs) return false;
    const now = stalledMs();
    const stalled = Math.max(now.machine - before.machine, now.own - before.own);
    return passed - stalled > limitMs || passed > MAX_FACTOR * limitMs;
  };
}

/**
 * How long to pause before the next question. One that takes long starts a program, which takes the processor from what is
 * waited for: it is asked less often the longer the wait is.
 */
function pauseMs(answerMs: number, waitedMs: number): number {
  if (answerMs < SLOW_ANSWER_MS) return INTERVAL_MS;
  return Math.min(Math.max(answerMs, waitedMs / 20, INTERVAL_MS), MAX_INTERVAL_MS);
}

/**
 * Asks until the answer is true, after a pause from 50 to 500 ms each time. An `ask` that throws counts as false; its last error is
 * the cause of the failure. The limit is a time of a machine that is idle: on a busy one the wait is longer, at most tenfold.
 */
export async function waitFor(
  what: string,
  ask: () => boolean | Promise<boolean>,
  { timeoutMs = TIMEOUT_MS, program, signal }: WaitOptions = {},
): Promise<void> {
  const begunAt = performance.now();
  const isOver = startStopwatch();
  let lastError: unknown;
  for (;;) {
    signal?.throwIfAborted();
    const askedAt = performance.now();
    try {
      if (await ask()) return;
    } catch (error) {
      lastError = error;
    }
    const hasEnded = program?.exited() === true;
    if (hasEnded || isOver(timeoutMs)) {
      const reason = hasEnded ? `${program.name} has ended` : `not within ${timeoutMs / 1_000} s`;
      throw new Error(`${what}: ${reason}\n${(await program?.tail()) ?? ''}`, { cause: lastError });
    }
    const now = performance.now();
    await delay(pauseMs(now - askedAt, now - begunAt));
  }
}

/** Asserts until nothing is thrown: for what follows in another process from what was seen already. */
export async function eventually(check: () => void | Promise<void>, options: WaitOptions = {}): Promise<void> {
  const holds = async (): Promise<boolean> => {
    await check();
    return true;
  };
  await waitFor('what is asserted does not become true', holds, options);
}

/** Asks for this time, and fails as soon as the answer is true. */
export async function never(what: string, ask: () => boolean | Promise<boolean>, forMs: number): Promise<void> {
  for (const end = performance.now() + forMs; performance.now() < end; await delay(INTERVAL_MS)) {
    if (await ask()) throw new Error(`${what}, within ${forMs / 1_000} s`);
  }
}
