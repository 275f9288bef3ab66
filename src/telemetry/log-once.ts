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
