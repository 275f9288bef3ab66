import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describeError } from '../errors.ts';
import { printable } from '../printable.ts';
import type { Log } from '../telemetry/log.ts';

const TIMEOUT_MS = 5_000;

/**
 * Writes a line to the terminals of all logged-in users, by wall(1). A failure is not an error: no user may be logged in. The
 * line is passed on standard input, because wall treats an argument that begins with "-" as an option, and the name of an
 * existing file as a file to read.
 */
export async function notifyUsers(line: string, log: Log, signal: AbortSignal): Promise<void> {
  try {
    const running = promisify(execFile)('wall', [], { signal, timeout: TIMEOUT_MS });
    // If wall ends before it has read the line, its exit code gives the reason.
    running.child.stdin?.on('error', () => undefined);
    running.child.stdin?.end(`${printable(line)}\n`);
    await running;
  } catch (error) {
    signal.throwIfAborted();
    log.debug({ reason: describeError(error) }, 'users were not notified');
  }
}
