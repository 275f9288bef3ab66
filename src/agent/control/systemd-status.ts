import type { Phase } from '../../decide/shutdown/phase.ts';
import type { Clock } from '../../host/clock.ts';
import type { AgentStatus } from './status.ts';
import { statusLine } from './status-line.ts';

/** While pods are waited for, systemd gets the state again after so long. */
const REPEAT_MS = 30_000;

/** What is shown, and what says whether it has to be shown again. */
interface ShownState {
  readonly phase: () => Phase;
  /** Whether the shutdown lock is held. */
  readonly isHeld: () => boolean;
  /** The storage problem; undefined while there is none. */
  readonly problem: () => string | undefined;
  /** For whom the machine waits with its reboot; undefined while it does not. */
  readonly turn: () => string | undefined;
  /** The whole status, which is put together only to be shown. */
  readonly status: () => AgentStatus;
}

/**
 * Gives systemd the state as one line: when the phase, the lock, the storage problem or the turn to reboot changes, and every 30 s during a drain. Returns
 * the function that does it; `notify` sends the line.
 */
export function createSystemdStatus(
  { phase: readPhase, isHeld, problem: readProblem, turn: readTurn, status }: ShownState,
  notify: (line: string) => Promise<void>,
  clock: Pick<Clock, 'monotonic'>,
): () => Promise<void> {
  let shown: { readonly phase: Phase; readonly says: string; readonly at: number } | undefined;
  return async () => {
    const phase = readPhase();
    const says = JSON.stringify([isHeld(), readProblem(), readTurn()]);
    const isSame = shown?.phase === phase && shown.says === says;
    const isDue = phase.kind === 'draining' && clock.monotonic() - (shown?.at ?? 0) >= REPEAT_MS;
    if (isSame && !isDue) return;
    shown = { phase, says, at: clock.monotonic() };
    await notify(statusLine(status()));
  };
}
