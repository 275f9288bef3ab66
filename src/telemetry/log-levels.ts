import type { LogLevel } from './log.ts';
import type { LogFormat } from './log-line.ts';

/** The values of --log-level. */
export const LOG_LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

/** The values of --log-format. */
export const LOG_FORMATS: readonly LogFormat[] = ['text', 'json'];

/** The description of --log-format. */
export const LOG_FORMAT_HELP = 'how a line of the log is written; default: text at a terminal, else JSON';
