import { deadlineWords } from '../../decide/shutdown/events.ts';
import type { Phase } from '../../decide/shutdown/phase.ts';
import { rfc3339 } from '../../decide/time.ts';
import type { Clock } from '../../host/clock.ts';
import type { AgentStatus } from './status.ts';

/** While pods are waited for, systemd gets the state again after so long. */
const REPEAT_MS = 30_000;
const MAX_LENGTH = 500;

/** The status as the one line that `systemctl status nodemaint` shows: the phase, and what is waited for since when. */
export function statusLine({ phase, summary, waitingFor, storageProblem }: AgentStatus): string {
  const disk = `${deadlineWords(phase)}${storageProblem === undefined ? '' : `; ${storageProblem}`}`;
  const [first] = waitingFor;
  if (first === undefined) return `${summary}${disk}`.slice(0, MAX_LENGTH);
  const oldest = waitingFor.reduce((a, b) => ((b.since ?? Infinity) < (a.since ?? Infinity) ? b : a), first);
  const since = oldest.since === undefined ? '' : ` since ${rfc3339(oldest.since)}`;
  const more = waitingFor.length === 1 ? '' : ` and ${waitingFor.length - 1} more`;
  return `${summary}; waiting for ${oldest.what} (${oldest.on})${since}${more}${disk}`.slice(0, MAX_LENGTH);
}

/** Gives systemd the state as one line: when what it says changes, and every 30 s during a drain. */
export class SystemdStatus {
  readonly #notify: (line: string) => Promise<void>;
  readonly #clock: Pick<Clock, 'monotonic'>;
  #shown: { readonly phase: Phase; readonly says: string; readonly at: number } | undefined;

  constructor(notify: (line: string) => Promise<void>, clock: Pick<Clock, 'monotonic'>) {
    this.#notify = notify;
    this.#clock = clock;
  }

  /** `says` differs where something beside the phase has to be shown at once; the status is read only to be shown. */
  async show(phase: Phase, says: string, status: () => AgentStatus): Promise<void> {
    const at = this.#clock.monotonic();
    const isSame = this.#shown?.phase === phase && this.#shown.says === says;
    const isDue = phase.kind === 'draining' && at - (this.#shown?.at ?? 0) >= REPEAT_MS;
    if (isSame && !isDue) return;
    this.#shown = { phase, says, at };
    await this.#notify(statusLine(status()));
  }
}
