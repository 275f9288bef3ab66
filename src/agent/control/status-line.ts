import { rfc3339 } from '../../decide/time.ts';
import type { AgentStatus } from './status.ts';

const MAX_LENGTH = 500;

/** The status as the one line that `systemctl status nodemaint` shows: the phase, and what is waited for since when. */
export function statusLine({ summary, waitingFor, storageProblem }: AgentStatus): string {
  const disk = storageProblem === undefined ? '' : `; ${storageProblem}`;
  const [first] = waitingFor;
  if (first === undefined) return `${summary}${disk}`.slice(0, MAX_LENGTH);
  const oldest = waitingFor.reduce((a, b) => ((b.since ?? Infinity) < (a.since ?? Infinity) ? b : a), first);
  const since = oldest.since === undefined ? '' : ` since ${rfc3339(oldest.since)}`;
  const more = waitingFor.length === 1 ? '' : ` and ${waitingFor.length - 1} more`;
  return `${summary}; waiting for ${oldest.what} (${oldest.on})${since}${more}${disk}`.slice(0, MAX_LENGTH);
}
