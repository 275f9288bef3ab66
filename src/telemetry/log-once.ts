import type { Log } from './log.ts';

/** Takes the reason of a condition that lasts each time it is seen, and undefined when it is over. */
export type LogOnce = (reason: string | undefined) => void;

/** Calls `write` when the condition appears and when its reason changes, but not each time it is seen. */
export function createLogOnce(write: (reason: string) => void): LogOnce {
  let written: string | undefined;
  return (reason) => {
    if (reason !== undefined && reason !== written) write(reason);
    written = reason;
  };
}

/** The same for a warning that has the reason beside it. */
export function createWarnOnce(log: Pick<Log, 'warn'>, message: string): LogOnce {
  return createLogOnce((reason) => {
    log.warn({ reason }, message);
  });
}
