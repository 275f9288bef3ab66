import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describeError } from '../errors.ts';
import type { Log } from '../telemetry/log.ts';

const TIMEOUT_MS = 5_000;

/** Writes a line to the terminals of all logged-in users by wall(1). A failure is no error: nobody may be there. */
export async function tellUsers(line: string, log: Log, signal: AbortSignal): Promise<void> {
  try {
    await promisify(execFile)('wall', [line.replaceAll(/[\p{Cc}]+/gu, ' ')], { signal, timeout: TIMEOUT_MS });
  } catch (error) {
    signal.throwIfAborted();
    log.debug({ reason: describeError(error) }, 'users were not told');
  }
}
