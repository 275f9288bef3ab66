import { fstatSync } from 'node:fs';
import process from 'node:process';
import { pino } from 'pino';
import { describeError } from '../errors.ts';
import { formatFor, type LogFormat, logLine, type LogReader } from './log-line.ts';

/** A structured logger: fields first, then a constant message in lower case. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

const STDOUT = 1;

/** Who reads standard output. systemd names the stream that it reads, because other programs inherit the variable. */
function readerOf(journalStream: string | undefined): LogReader {
  if (process.stdout.isTTY) return 'terminal';
  if (journalStream === undefined) return 'program';
  try {
    const { dev, ino } = fstatSync(STDOUT, { bigint: true });
    return journalStream === `${dev}:${ino}` ? 'journal' : 'program';
  } catch {
    return 'program';
  }
}

/**
 * Creates a logger that writes one line per event to standard output: text for journald, with its priority, and on a
 * terminal; JSON for the container runtime and other programs; or what `configured` says. An error is its messages, without
 * the stack: it is one of bundled code. journald and the container runtime limit how much is written.
 */
export function createLog(level: LogLevel, name: string, configured?: LogFormat): Log {
  const reader = readerOf(process.env['JOURNAL_STREAM']);
  const form = { reader, format: formatFor(reader, configured) };
  return pino({
    level,
    base: { name },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: describeError },
    // The log is read in terminals too, and JSON does not escape control characters above 127.
    hooks: { streamWrite: (line) => logLine(line, form) },
  });
}
