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

/** Makes a logger that writes one JSON line an event to standard output, where journald or the runtime reads it. */
export function createLog(level: LogLevel, name: string): Log {
  return pino({
    level,
    base: { name },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    // People read it in terminals too, and JSON leaves the control characters above 127 as they are.
    hooks: { streamWrite: escaped },
  });
}
