import { setTimeout as delay } from 'node:timers/promises';
import type { Program } from '../control-plane/process.ts';

interface WaitOptions {
  /** The wait fails after this time, in milliseconds; 30 s where it is absent. */
  readonly timeoutMs?: number;
  /** The wait fails when this program ends; the error has the last lines of its log. */
  readonly program?: Program | undefined;
  readonly signal?: AbortSignal;
}

/** Less than the 15 s after which the controller looks at a maintenance again: a wait fails where the controller misses an event. */
export const SOON: WaitOptions = { timeoutMs: 14_000 };
/** The time for what a kubelet, containers or a whole drain do. */
export const SLOW: WaitOptions = { timeoutMs: 90_000 };

const TIMEOUT_MS = 30_000;
const INTERVAL_MS = 50;
const MAX_INTERVAL_MS = 250;

/**
 * Asks until the answer is true, 50 ms after the last answer. A question that starts a program takes the processor from what
 * is waited for: the pause is as long as the answer took, up to 250 ms. An `ask` that throws counts as false; its last error is the cause of the failure.
 */
export async function waitFor(
  what: string,
  ask: () => boolean | Promise<boolean>,
  { timeoutMs = TIMEOUT_MS, program, signal }: WaitOptions = {},
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
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
    if (hasEnded || performance.now() > deadline) {
      const reason = hasEnded ? `${program.name} has ended` : `not within ${timeoutMs / 1_000} s`;
      throw new Error(`${what}: ${reason}\n${(await program?.tail()) ?? ''}`, { cause: lastError });
    }
    await delay(Math.min(Math.max(performance.now() - askedAt, INTERVAL_MS), MAX_INTERVAL_MS));
  }
}
