import type { LogLevel } from './log.ts';

/** The values of --log-level. */
export const LOG_LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];
