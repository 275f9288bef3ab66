import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describeError } from '../errors.ts';
import { printable } from '../printable.ts';
import type { Log } from '../telemetry/log.ts';

const TIMEOUT_MS = 5_000;

/**
 * Writes a line to the terminals of all logged-in users by wall(1). A failure is no error: nobody may be there. The line
 * goes to its standard input, because wall takes an argument for an option where it begins with "-", and for a file to
 * read where there is one of that name.
 */
export async function notifyUsers(line: string, log: Log, signal: AbortSignal): Promise<void> {
  try {
    const told = promisify(execFile)('wall', [], { signal, timeout: TIMEOUT_MS });
    // Where wall ends before it has read the line, its exit code says why.
    told.child.stdin?.on('error', () => undefined);
    told.child.stdin?.end(`${printable(line)}\n`);
    await told;
  } catch (error) {
    signal.throwIfAborted();
    log.debug({ reason: describeError(error) }, 'users were not told');
  }
}
