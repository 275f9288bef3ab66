import { NodemaintError } from '../../errors.ts';
import type { Terminal } from './terminal.ts';

/** The exit codes of the commands (docs/reference/commands.md). */
export const EXIT = { done: 0, failed: 1, usage: 2, timedOut: 3, blocked: 4, interrupted: 130 } as const;

/**
 * The exit code of a command that failed with `error`: 2 for a usage error or an invalid configuration, else 1. Prints an
 * error that a person can act on as one message; throws all others.
 */
export function failedExitCode(error: unknown, terminal: Pick<Terminal, 'warn' | 'stop' | 'signal'>): number {
  if (terminal.signal.aborted) return EXIT.failed;
  if (!(error instanceof NodemaintError)) {
    // What was under way was stopped, as the person wished.
    if (terminal.stop.aborted) return EXIT.failed;
    throw error;
  }
  terminal.warn(`nodemaint: ${error.message}\n`);
  return error.code === 'CONFIG_INVALID' || error.code === 'USAGE' ? EXIT.usage : EXIT.failed;
}
