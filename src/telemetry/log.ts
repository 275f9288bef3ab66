import { pino } from 'pino';
import { escaped } from '../printable.ts';

/** A structured logger: fields first, then a constant message in lower case. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Creates a logger that writes one JSON line per event to standard output, for journald or the container runtime. */
export function createLog(level: LogLevel, name: string): Log {
  return pino({
    level,
    base: { name },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    // The log is read in terminals too, and JSON does not escape control characters above 127.
    hooks: { streamWrite: escaped },
  });
}
