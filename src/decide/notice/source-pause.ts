/** How long the pause after failed readings may get, which still leaves half of a notice of two minutes. */
const MAX_PAUSE_MS = 60_000;
const MIN_FAILED_PAUSE_MS = 1_000;

/**
 * The pause before a source of notices is read again, in milliseconds. It doubles with each failure in succession;
 * `everyMs` is the pause of a source that answers.
 */
export function sourcePauseMs(everyMs: number, failures: number): number {
  const most = Math.max(MAX_PAUSE_MS, everyMs);
  if (failures === 0) return Math.min(everyMs, most);
  return Math.min(Math.max(MIN_FAILED_PAUSE_MS, everyMs) * 2 ** Math.min(failures, 16), most);
}
