import assert from 'node:assert/strict';
import process from 'node:process';

/** The time of the processor in milliseconds, the least of three runs: other programs of the machine have no part in it. */
function processorMs(run: () => unknown): number {
  const runs = Array.from({ length: 3 }, () => {
    const before = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  });
  return Math.min(...runs);
}

/** Below this nothing is measured, in milliseconds. */
const LEAST_MS = 40;
/** Where the work grows with the length of a text, eight times the text takes eight times the time; with its square, 64 times. */
const MOST = 32;

/** Throws where eight times the text takes much more than eight times the time. */
export function assertLinear(run: (text: string) => unknown, textOf: (length: number) => string, length: number): void {
  const [short, long] = [textOf(length), textOf(8 * length)];
  const shortMs = processorMs(() => run(short));
  const longMs = processorMs(() => run(long));
  assert.ok(
    longMs < LEAST_MS || longMs < MOST * shortMs,
    `${length} characters take ${shortMs.toFixed(1)} ms, eight times as many ${longMs.toFixed(1)} ms`,
  );
}
